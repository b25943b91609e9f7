"""The applications: each module is run by its application's own interpreter, and needs nothing of the project's."""
