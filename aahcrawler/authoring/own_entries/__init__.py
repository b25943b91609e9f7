"""The own folder: the entries of one's own beside those that ship, with who changed what when."""
