"""What the knowledge base makes of a page, the lines that decided, and near misses."""
