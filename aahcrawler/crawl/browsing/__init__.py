"""Pages in a browser: which they are, and how their requests are answered under the rules of the crawl."""
