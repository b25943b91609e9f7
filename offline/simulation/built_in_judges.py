"""The built-in judges, by the names that stand for their files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from offline.simulation import cosine_judge, label_judge

BUILT_IN: Final[Mapping[str, Path]] = {cosine_judge.NAME: cosine_judge.FILE, label_judge.NAME: label_judge.FILE}


def judge_file(named: Path | None) -> Path | None:
    """Return the file of a judge, given its name or its path; None for None."""
    return None if named is None else BUILT_IN.get(str(named), named)
