"""The editor of the knowledge base: drafts, checks, trials on pages, changes, sharing. Independent of HTTP."""
