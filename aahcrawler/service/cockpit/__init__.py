"""The crawler cockpit: watch, steer and look at crawls in a browser (ARCOMEM, section 3.5)."""
