"""Tells the languages of texts whose readings do not say them."""

from collections.abc import Iterator
from importlib.metadata import version
from typing import Final

from aahcrawler.annotations import Annotation, Kind
from offline.enrichment.annotator import ObjectText
from offline.enrichment.object_texts import told_language

_EDITION: Final = "1"
_CONFIDENCE: Final = 0.9


class LanguageAnnotator:
    """Says of an object which language its text is in, where the text tells and the reading does not."""

    name = "language"

    def __init__(self) -> None:
        self.version = f"{_EDITION} py3langid {version('py3langid')}"

    def annotate(self, given: ObjectText) -> Iterator[Annotation]:
        """Yield the language of the text, by its code of ISO 639-1; nothing where it is known, or in doubt."""
        code = "" if given.language else told_language(given.text)
        if code:
            yield Annotation(given.object, given.capture, Kind.LANGUAGE, code, self.name, self.version, _CONFIDENCE)
