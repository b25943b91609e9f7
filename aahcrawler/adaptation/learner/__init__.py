"""Makes extraction actions of lessons, in the terms of the knowledge base (wrapper induction)."""
