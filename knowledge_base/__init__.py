"""The web applications: how to recognise them and their page levels, and the actions on each level."""
