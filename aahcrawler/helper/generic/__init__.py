"""Read pages of no known application, documents and sitemaps."""
