"""Puts a crawl's RDF into a store that answers SPARQL: loading, asking, ready-made queries."""
