"""The crawler cockpit: a crawl watched, steered and looked at in a browser (ARCOMEM, section 3.5)."""
