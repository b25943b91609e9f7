"""The content of ``topic.json``: the part of a crawl's topic that the definition does not hold.

It is an object with the texts of reference documents on the web by their URLs and, under ``learned``, the terms that
the crawl has learned. Without anything learned it is the texts alone.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from online_analysis.topic_learning import NOTHING, Learned

LEARNED = "learned"
"""The field of the learned terms; unlike the others it is not a URL."""

_TEXTS: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])


@dataclass(frozen=True, slots=True)
class TopicState:
    """The stored state of a topic: equal definitions with equal stored states score pages the same."""

    texts: Mapping[str, str] = field(default_factory=dict)
    learned: Learned = NOTHING

    @classmethod
    def parse(cls, content: bytes) -> "TopicState":
        """Read the content of a file. Raise ``ValueError`` where it is not a stored topic."""
        try:
            content_fields = json.loads(content)
            learned = content_fields.pop(LEARNED, None)
            texts = _TEXTS.validate_python(content_fields)
            return cls(texts, NOTHING if learned is None else Learned.model_validate(learned))
        except (AttributeError, TypeError, ValidationError, RecursionError) as error:
            raise ValueError(f"it is no topic: {error}") from error

    @classmethod
    def read(cls, path: Path) -> "TopicState":
        """Read a file; nothing is stored where there is none. Raise ``OSError``, or as ``parse`` does."""
        return cls.parse(path.read_bytes()) if path.exists() else cls()

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to store."""
        return not self.texts and self.learned.is_empty

    @property
    def meaning(self) -> Mapping[str, object]:
        """Return the stored state as JSON-ready values."""
        learned = {} if self.learned.is_empty else {LEARNED: self.learned.model_dump(mode="json", exclude_none=True)}
        return {**self.texts, **learned}

    @property
    def text(self) -> str:
        """The content of the file."""
        return json.dumps(self.meaning, ensure_ascii=False)
