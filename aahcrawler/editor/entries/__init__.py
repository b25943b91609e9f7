"""The own folder: own entries beside the shipped ones, their history, and exchange with others."""
