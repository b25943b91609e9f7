"""The guesses of a draft that nobody has confirmed, with what else could be right."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from aahcrawler.authoring.editing.edits import Edit


class Alternative(BaseModel):
    """Something else that could be right: in words, and as changes of the file."""

    model_config = ConfigDict(frozen=True)

    said: str
    edits: tuple[Edit, ...]


class Doubt(BaseModel):
    """A guess: the place of its element, what was guessed, how doubtful that is, and what else could be right."""

    model_config = ConfigDict(frozen=True)

    place: str
    said: str
    doubt: Annotated[float, Field(gt=0, le=1)]
    alternatives: tuple[Alternative, ...] = ()
