"""The crawls that a service knows, the URLs that they would take, and the way to their frontiers."""
