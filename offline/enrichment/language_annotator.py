"""Tells the languages of texts whose readings do not say them."""

from collections.abc import Iterator
from importlib.metadata import version
from typing import Final

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.page.generic import language as language_of
from offline.enrichment.annotator import ObjectText

_EDITION: Final = "1"
_CONFIDENCE: Final = 0.9


class LanguageAnnotator:
    """Says of an object which language its text is in, where the text tells and the reading does not."""

    name = "language"

    def __init__(self) -> None:
        self.version = f"{_EDITION} py3langid {version('py3langid')}"

    def annotate(self, given: ObjectText) -> Iterator[Annotation]:
        """Yield the language of the text, by its code of ISO 639-1; nothing where it is known, or in doubt."""
        code = None if given.language else language_of(given.text)
        if code:
            yield Annotation(given.object, given.capture, Kind.LANGUAGE, code, self.name, self.version, _CONFIDENCE)
