"""Find the objects of an action by other means than its expressions: what was there before, names, structure."""
