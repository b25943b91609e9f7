"""The error of all edits."""


class EditError(Exception):
    """A file cannot be changed in the wanted way; the message says why in plain words."""
