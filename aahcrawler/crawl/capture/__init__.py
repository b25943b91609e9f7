"""A captured response: what former crawls knew of it, what was understood of it, its archive records."""
