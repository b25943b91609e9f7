"""Keep a crawl alive: full disks, server outages, errors and their classes."""
