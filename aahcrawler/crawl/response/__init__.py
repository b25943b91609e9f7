"""Handle responses, from understanding the page to finishing its lease."""
