"""The knowledge base of web applications: how to recognise them and their page levels, and actions on each level."""
