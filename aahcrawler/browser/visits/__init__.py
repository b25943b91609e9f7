"""One page, looked at as a person would: loaded, acted on, and kept as it is then."""
