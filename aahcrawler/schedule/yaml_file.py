"""The base of a schedule's files: YAML that is parsed like a definition, each mistake with its line."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Self

from pydantic import PrivateAttr, ValidationError

from online_analysis.icd.explanations import mistakes_of
from online_analysis.icd.mistakes import FieldPath, IcdError, Mistake, Section
from online_analysis.icd.yaml_source import MAX_DEFINITION_LENGTH, Source, Value, read_source


class YamlFile(Section):
    """The content of a file without mistakes. A field without a value counts as missing."""

    kind: ClassVar[str]
    """What the file is called in messages: `a schedule`."""
    usual: ClassVar[str]
    """The usual name of such a file."""
    begins: ClassVar[str]
    """The required fields, in words."""
    advice: ClassVar[str]
    """What to do if the file cannot be read, in words."""

    _source: Source = PrivateAttr(default_factory=lambda: Source(""))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file. Raise ``IcdError`` with every mistake in it."""
        return cls.parse(cls.content(path), str(path))

    @classmethod
    def parse(cls, content: bytes, file: str = "") -> Self:
        """Read the content of a file; raise as ``load`` does."""
        source = cls.source_of(content, file or cls.usual)
        found = cls.validated(source.data, source)
        if source.mistakes:
            raise IcdError(source.mistakes)
        return found

    @classmethod
    def content(cls, path: Path) -> bytes:
        """Return the bytes of a file, at most one more than it may have; raise ``IcdError`` if it cannot be read."""
        try:
            with path.open("rb") as file:
                return file.read(MAX_DEFINITION_LENGTH + 1)
        except OSError as error:
            raise IcdError([Mistake(str(path), 1, "", f"cannot be read ({error.strerror})", cls.advice)]) from error

    @classmethod
    def source_of(cls, content: bytes, file: str) -> Source:
        """Parse YAML; return its data, with the mistakes in the syntax."""
        return read_source(content, file, cls.kind, cls.begins)

    @classmethod
    def validated(cls, data: Mapping[str, Value], source: Source) -> Self:
        """Validate data; raise ``IcdError`` with every mistake in them."""
        try:
            found = cls.model_validate(_without_empty(data))
        except ValidationError as error:
            raise IcdError([*source.mistakes, *mistakes_of(error, cls, source)]) from None
        found._source = source  # noqa: SLF001 - still being made
        return found

    def mistake(self, path: FieldPath, problem: str, advice: str) -> Mistake:
        """Return a mistake with its place in the file."""
        return self._source.mistake(path, problem, advice)


def _without_empty(data: Mapping[str, Value]) -> dict[str, Value]:
    kept = {name: _without_empty(value) if isinstance(value, dict) else value for name, value in data.items()}
    return {name: value for name, value in kept.items() if value is not None}
