"""Change single elements of an application's file and leave every other byte as it is."""
