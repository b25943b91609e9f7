"""Links that are pushed to the service of another instance."""
