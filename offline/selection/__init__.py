"""The offline phase's choice among what the online phase has kept (ARCOMEM, sections 3.3 and 4)."""
