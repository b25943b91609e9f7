"""Name the variable of the shared server; commands read it before anything is imported that takes time."""

REDIS_URL = "AAH_REDIS_URL"
"""The environment variable that names a shared Redis-protocol server; without it each crawl has its own."""
