"""Find where a page leads: navigation, forms, references, and links that are junk."""
