"""The fields of a definition that reach what is this machine's own: its secrets, its files, and where they are sent.

Whoever may steer crawls may not read the machine's files or its environment that way. These fields are written in the
file of a definition, by somebody who has the machine.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from aahcrawler.service.web.problems import BAD_DEFINITION, MistakeShown, ProblemError
from online_analysis.icd import Icd

_WHOLE: Final = frozenset({"archive.target", "scoring.entity_model", "scoring.post_to"})
_NAMES: Final = frozenset({"ca_file", "client_certificate", "client_key", "cookies_file", "env", "file"})
_PROBLEM = "reaches this machine's own files or secrets"
_ADVICE = "write it into the file of the definition on the machine itself, or leave it out"


def machine_fields(icd: Icd) -> Mapping[str, object]:
    """Return the fields of a definition that reach the machine's own, by their paths, with their values."""
    found = dict(_reaching(icd.model_dump(mode="json", exclude={"output"}), ""))
    return {**found, **{f"file {name}": name for name in icd.file_names}}


def refuse_machine_fields(icd: Icd, before: Icd | None = None) -> None:
    """Raise ``ProblemError`` where a definition that came by the network reaches what is this machine's own.

    What it did ``before`` it may go on to do, and where it names secrets the rest of ``network`` stays as well, which
    says to whom they are sent.
    """
    allowed = {} if before is None else machine_fields(before)
    new = [name for name, value in machine_fields(icd).items() if name not in allowed or allowed[name] != value]
    if before is not None and any(name.startswith("network.") for name in allowed) and before.network != icd.network:
        new.append("network")
    if new:
        mistakes = tuple(MistakeShown(line=1, field=name, problem=_PROBLEM, advice=_ADVICE) for name in new)
        raise ProblemError(BAD_DEFINITION, f"{', '.join(new)}: {_PROBLEM}; {_ADVICE}", mistakes=mistakes)


def _reaching(value: object, path: str) -> Iterator[tuple[str, object]]:
    if path in _WHOLE or path.rpartition(".")[2] in _NAMES:
        if value:
            yield path, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _reaching(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _reaching(inner, f"{path}[{place}]")
