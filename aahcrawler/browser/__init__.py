"""A browser for pages that scripts make: it reaches nothing by itself, and all that it asks for is recorded."""
