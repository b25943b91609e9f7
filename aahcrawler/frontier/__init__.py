"""URLs with scores: which are known, which is fetched next, and by whom."""
