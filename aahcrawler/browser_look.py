"""What a look at a page in a browser was, as the metadata of the page keep it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class RenderInfo:
    """A look at a page in a browser.

    ``dom`` is the id of the record with the document that it ended with, from which the page's text, objects and links
    were read, and ``text`` the SHA-1, in hexadecimal digits, of that document's visible text; both are empty where the
    look failed, for the reason ``failed``, so that the page was read as it came. ``ended`` says why no more was waited
    for, after how many ``seconds``. ``refused`` counts by reason what the page asked for and was not given.
    ``behaviours`` say in words what was done on it, ``console`` what its scripts reported. ``made_of`` are the URLs of
    the data that the document was made of, where no browser was asked, since looks before had shown how.
    """

    dom: str = ""
    text: str = ""
    ended: str = ""
    seconds: float = 0.0
    requests: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)
    behaviours: tuple[str, ...] = ()
    console: tuple[str, ...] = ()
    failed: str = ""
    made_of: tuple[str, ...] = ()


_LOOK: Final = TypeAdapter(RenderInfo)


def render_json(look: RenderInfo) -> object:
    """Return a look as JSON has it; what is empty is left out.

    >>> render_json(RenderInfo(failed="time"))
    {'failed': 'time'}
    """
    found: object = _LOOK.dump_python(look, mode="json", exclude_defaults=True)
    return found


def read_look(fields: object) -> RenderInfo:
    """Return what ``render_json`` made. Raise ValueError for anything else."""
    return _LOOK.validate_python(fields)
