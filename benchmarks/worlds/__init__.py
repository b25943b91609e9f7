"""Worlds to simulate crawls in, made of packages of the public indexes and of software that a script fills."""
