"""The crawler cockpit: pages in a browser, from which a crawl is watched, steered and looked at (ARCOMEM, section 3.5)."""
