"""The web service for scored URLs: external analysers, and other instances, speak to crawls here."""
