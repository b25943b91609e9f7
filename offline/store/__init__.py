"""What a crawl wrote as RDF, in a store that answers SPARQL: loading it, asking it, ready-made queries."""
