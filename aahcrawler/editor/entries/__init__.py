"""The own folder: the entries of one's own beside those that ship, who changed what when, and entries that travel."""
