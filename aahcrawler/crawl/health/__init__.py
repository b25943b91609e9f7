"""What a crawl survives: full disks, servers that are away, errors and whose they are."""
