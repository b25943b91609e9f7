"""What people and programs see of a crawl: its queue, pages, objects, sites and events, as typed values."""
