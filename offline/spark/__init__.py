"""Spreads jobs over captures over the machines of an Apache Spark cluster."""
