"""Make pages from their JSON data without a browser, by templates learned from pages that a browser rendered."""
