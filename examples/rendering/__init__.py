"""How the pages of the demo world are made: content in YAML, templates in Python, sites in the recorded-site format."""
