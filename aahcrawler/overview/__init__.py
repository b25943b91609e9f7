"""Overviews of archives, over time and by site: counts, pictures of them, and the links between sites."""
