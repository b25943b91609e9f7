"""Load a crawl's RDF into a SPARQL store, and query it, also with predefined queries."""
