"""Loads a crawl's RDF into a SPARQL store, and queries it, also by ready-made queries."""
