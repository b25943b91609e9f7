"""Parses the parts of a knowledge base file into the model, recording each mistake with its line and with advice."""
