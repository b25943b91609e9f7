"""The processes of Chromium: starting them without network access and within bounds, and ending all of them."""
