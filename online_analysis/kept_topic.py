"""What a crawl keeps of its topic, as far as the definition does not say it: the content of ``topic.json``.

It is an object with the texts of reference documents on the web by their addresses and, under ``learned``, what the
crawl has learned. Without anything learned it is the texts alone.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from online_analysis.learning import NOTHING, Learned

LEARNED = "learned"
"""The field that holds what was learned; it is no address, as the others are."""

_TEXTS: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])


@dataclass(frozen=True, slots=True)
class KeptTopic:
    """What is kept of a topic: with equal definitions and equal ones of these, pages are scored the same."""

    texts: Mapping[str, str] = field(default_factory=dict)
    learned: Learned = NOTHING

    @classmethod
    def parse(cls, content: bytes) -> "KeptTopic":
        """Read the content of a file. Raise ``ValueError`` where it is none."""
        try:
            said = json.loads(content)
            learned = said.pop(LEARNED, None)
            texts = _TEXTS.validate_python(said)
            return cls(texts, NOTHING if learned is None else Learned.model_validate(learned))
        except (AttributeError, TypeError, ValidationError) as error:
            raise ValueError(f"it is no topic: {error}") from error

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to keep."""
        return not self.texts and self.learned.is_empty

    @property
    def meaning(self) -> Mapping[str, object]:
        """All that is kept."""
        learned = {} if self.learned.is_empty else {LEARNED: self.learned.model_dump(mode="json", exclude_none=True)}
        return {**self.texts, **learned}

    @property
    def text(self) -> str:
        """The content of the file."""
        return json.dumps(self.meaning, ensure_ascii=False)
