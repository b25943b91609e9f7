"""Web objects and captures as RDF statements."""
