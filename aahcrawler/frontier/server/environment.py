"""Name the variables of the frontier's server; commands read one before anything is imported that takes time."""

REDIS_URL = "AAH_REDIS_URL"
"""The environment variable that names a shared Redis-protocol server; without it each crawl has its own."""
SERVER = "AAH_FRONTIER_SERVER"
"""The environment variable that names the program of crawls' own servers; without it the included one is preferred."""
