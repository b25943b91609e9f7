"""Whose words a pack holds, apart from the packs: the command line has to know them at once."""

from enum import StrEnum


class Contents(StrEnum):
    """Whose words the saved pages of a pack hold."""

    MINE = "mine"
    """The packer wrote them, or may pass them on."""
    MADE_UP = "made-up"
    """They were put in the place of what people wrote."""
    OTHERS = "others"
    """Other people wrote them; whoever takes the entry must not publish them."""
    LEFT_OUT = "left-out"
    """There are pages, but they were left out of the pack."""
    NONE = "none"
    """The entry has no saved pages."""
