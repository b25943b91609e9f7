"""What a site knows the crawl by: cookies, secrets and HTTP authentication; and how secrets are masked."""
