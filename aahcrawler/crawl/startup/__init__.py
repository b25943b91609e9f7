"""Opening a crawl: its stores, its frontier, its seeds, and what a former run left."""
