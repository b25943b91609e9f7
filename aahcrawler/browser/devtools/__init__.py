"""The DevTools protocol of Chromium, over a pipe."""
