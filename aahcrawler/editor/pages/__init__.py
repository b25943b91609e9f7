"""Pages for authors of the knowledge base: named by people, saved as tests, tried in bulk on archives."""
