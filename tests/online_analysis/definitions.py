"""ICDs for the tests, in text and as objects."""

from pathlib import Path

import pytest

from online_analysis.icd import Icd, IcdError, Mistake

SMALLEST = """\
id: solar
contact: archive@example.org
seeds: [https://forum.example.org/]
topic: {keywords: [solar power]}
"""


def with_lines(*lines: str) -> Icd:
    """Return the smallest ICD with more lines at its end."""
    return Icd.parse((SMALLEST + "\n".join(lines)).encode(), Path("solar.yaml"))


def mistakes_in(text: str | bytes, folder: Path = Path()) -> tuple[Mistake, ...]:
    """Return the mistakes of an ICD that has some."""
    content = text.encode() if isinstance(text, str) else text
    with pytest.raises(IcdError) as caught:
        Icd.parse(content, folder / "solar.yaml")
    assert str(caught.value).count("\n") + 1 == len(caught.value.mistakes)
    return caught.value.mistakes


def only_mistake(*lines: str, folder: Path = Path()) -> Mistake:
    """Return the one mistake of the smallest ICD with more lines at its end."""
    (mistake,) = mistakes_in(SMALLEST + "\n".join(lines), folder)
    return mistake
