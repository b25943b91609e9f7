"""Search: a full-text index of pages and web objects for each folder, and questions to any number of them."""
