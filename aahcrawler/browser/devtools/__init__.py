"""A client of Chromium's DevTools protocol over a pipe."""
