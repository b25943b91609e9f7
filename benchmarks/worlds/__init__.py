"""Worlds for simulated crawls, made of packages of public indexes and of generated sites."""
