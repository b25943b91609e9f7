"""Read a page of a known application: its actions, what they miss, and whether that is worse than generic reading."""
