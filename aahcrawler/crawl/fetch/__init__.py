"""One fetch: politeness, claims of IP addresses, robots.txt, the download handler."""
