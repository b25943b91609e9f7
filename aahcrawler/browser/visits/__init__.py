"""Visit pages: load a page, let behaviours act on it, and capture its state."""
