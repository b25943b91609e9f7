"""The frontier: all known URLs of a crawl with their scores and states, and which of them each worker fetches next."""
