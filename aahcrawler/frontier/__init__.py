"""The frontier: all known URLs of a crawl with their scores and states, and who fetches which of them next."""
