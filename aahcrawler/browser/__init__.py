"""A browser for pages that scripts make. It has no network access of its own, and all its requests are recorded."""
