"""Handle answers, from understanding the page to finishing its lease."""
