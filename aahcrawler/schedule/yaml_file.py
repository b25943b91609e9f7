"""What the files of a schedule have in common: YAML that is read like a definition, with every mistake at its line."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Self

from pydantic import PrivateAttr, ValidationError

from online_analysis.icd.explanations import mistakes_of
from online_analysis.icd.mistakes import FieldPath, IcdError, Mistake, Section
from online_analysis.icd.yaml_source import MAX_DEFINITION_LENGTH, Source, Value, read_source


class YamlFile(Section):
    """The content of a file without mistakes. Fields without a value are as if they were not there."""

    kind: ClassVar[str]
    """What the file is, in words: `a schedule`."""
    usual: ClassVar[str]
    """The name that such a file usually has."""
    begins: ClassVar[str]
    """Which fields it has to have, in words."""
    advice: ClassVar[str]
    """What to do where it cannot be read."""

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
        """Return the bytes of a file, as many as one may have and one more; raise ``IcdError`` as ``load`` does."""
        try:
            with path.open("rb") as file:
                return file.read(MAX_DEFINITION_LENGTH + 1)
        except OSError as error:
            raise IcdError([Mistake(str(path), 1, "", f"cannot be read ({error.strerror})", cls.advice)]) from error

    @classmethod
    def source_of(cls, content: bytes, file: str) -> Source:
        """Return what the YAML of a content says, and the mistakes in that."""
        return read_source(content, file, cls.kind, cls.begins)

    @classmethod
    def validated(cls, data: Mapping[str, Value], source: Source) -> Self:
        """Return what data of a source say; raise ``IcdError`` with all mistakes in them."""
        try:
            found = cls.model_validate(_without_empty(data))
        except ValidationError as error:
            raise IcdError([*source.mistakes, *mistakes_of(error, cls, source)]) from None
        found._source = source  # noqa: SLF001 - still being made
        return found

    def mistake(self, path: FieldPath, problem: str, advice: str) -> Mistake:
        """Place a problem in the file."""
        return self._source.mistake(path, problem, advice)


def _without_empty(data: Mapping[str, Value]) -> dict[str, Value]:
    kept = {name: _without_empty(value) if isinstance(value, dict) else value for name, value in data.items()}
    return {name: value for name, value in kept.items() if value is not None}
