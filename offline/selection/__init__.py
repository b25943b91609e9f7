"""Selects from the pages that the online phase has archived (ARCOMEM, sections 3.3 and 4)."""
