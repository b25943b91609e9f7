"""What people and programs do to a crawl, each act previewed where it can be, logged, and undone where it can be."""
