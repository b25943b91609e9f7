"""HTTP as the service speaks it: who is let in, how much is taken, and how errors are told."""
