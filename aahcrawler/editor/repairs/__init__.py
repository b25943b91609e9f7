"""Repairs learned by crawls, for people to review: compared with what they replace, then accepted or rejected."""
