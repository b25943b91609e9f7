"""What a site knows the crawl by: cookies, secrets, HTTP authentication; and how they are kept out of sight."""
