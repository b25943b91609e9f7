"""Parts of a knowledge base file as values of the model; every mistake is noted with its line and with advice."""
