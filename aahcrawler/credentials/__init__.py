"""The cookies, secrets and HTTP authentication by which a site recognises the crawl, and how secrets are masked."""
