"""Pages for whoever writes the knowledge base: named by people, saved as tests, tried in numbers on archives."""
