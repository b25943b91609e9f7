"""Views of a crawl for people and programs: its queue, pages, objects, sites and events, as typed values."""
