"""Outside archives in a form: any number, the preferred one first."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pydantic import JsonValue, TypeAdapter, ValidationError

from aahcrawler.service.cockpit.site import Form
from aahcrawler.service.web.problems import BAD_SEARCH, ProblemError
from online_analysis.icd.sections import WebUrl

MEMENTO: Final = "memento"
REPLAY: Final = "replay"
FILES: Final = "files"
KINDS: Final[Mapping[str, tuple[str, str, str]]] = {
    MEMENTO: ("Memento archive or aggregator", "TimeGate", "TimeMap"),
    REPLAY: ("CDX server with replay", "list of captures", "place where captures are shown"),
    FILES: ("CDX server with WARC files", "list of captures", "folder of the WARC files"),
}
"""What each kind is called, and what its two addresses lead to."""
PARTS: Final = ("kind", "name", "first", "second")
MAX_OTHERS: Final = 40
_PREFIX: Final = "elsewhere"
_URL: Final = TypeAdapter[str](WebUrl)


@dataclass(frozen=True, slots=True)
class OtherArchive:
    """An outside archive as it was typed; ``number`` is its position in the form, from 1."""

    number: int
    kind: str = MEMENTO
    name: str = ""
    first: str = ""
    second: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is typed."""
        return not (self.name or self.first or self.second)

    def field(self, part: str) -> str:
        """Return the name of one of its fields."""
        return f"{_PREFIX}.{self.number}.{part}"

    @property
    def fields(self) -> Mapping[str, str]:
        """Its fields as a form sends them."""
        return {self.field(part): getattr(self, part) for part in PARTS}

    @property
    def source(self) -> JsonValue:
        """The archive as a source in a definition."""
        kind = self.kind if self.kind in KINDS else MEMENTO
        names = ("timegate", "timemap") if kind == MEMENTO else ("server", kind)
        given = {name: url for name, url in zip(names, (self.first, self.second), strict=True) if url}
        named: dict[str, JsonValue] = {"name": self.name} if self.name else {}
        return {**named, MEMENTO if kind == MEMENTO else "cdx": dict[str, JsonValue](given)}

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with it: the name of a field, and what to do."""
        if self.kind not in KINDS:
            yield "kind", "choose what it is"
            return
        _, first, second = KINDS[self.kind]
        if self.kind == MEMENTO and not (self.first or self.second):
            yield "first", f"write the address of its {first}, of its {second}, or both"
        for part, url, leads_to in (("first", self.first, first), ("second", self.second, second)):
            if not url and self.kind != MEMENTO:
                yield part, f"write the web address of the {leads_to}"
            elif url and not _is_address(url):
                yield part, f"is no web address: the one of the {leads_to} begins with http:// or https://"
        if len(self.name) > 100:
            yield "name", "write at most 100 letters"


def _is_address(url: str) -> bool:
    try:
        _URL.validate_python(url)
    except ValidationError:
        return False
    return True


def others_in(form: Form) -> Sequence[OtherArchive]:
    """Return the outside archives in a form, in order, including empty rows."""
    numbers = {int(name.split(".")[1]) for name in form.fields if _is_field(name)}
    found = []
    for number in sorted(numbers)[:MAX_OTHERS]:
        of = OtherArchive(number)
        found.append(OtherArchive(number, *(form.get(of.field(part)) for part in PARTS)))
    return found


def _is_field(name: str) -> bool:
    prefix, _, rest = name.partition(".")
    number, _, part = rest.partition(".")
    return prefix == _PREFIX and part in PARTS and number.isascii() and number.isdigit() and len(number) < 4


def with_others(form: Form, more: Sequence[OtherArchive]) -> Form:
    """Return a form with more outside archives, which fill empty rows first."""
    kept = [each for each in others_in(form) if not each.is_empty]
    known = {(each.kind, each.first, each.second) for each in kept}
    kept += [each for each in more if each.is_empty or (each.kind, each.first, each.second) not in known]
    if len(kept) > MAX_OTHERS:
        raise ProblemError(BAD_SEARCH, f"a collection has at most {MAX_OTHERS} archives elsewhere; remove some")
    plain = {name: value for name, value in form.fields.items() if not _is_field(name)}
    for number, each in enumerate(kept, 1):
        plain |= replace(each, number=number).fields
    return Form(plain, form.documents)


def archives_listed(document: bytes) -> Sequence[OtherArchive]:
    """Return the Memento archives in a list in MemGator's JSON, the most probable first, without ignored ones.

    Raise ``ProblemError`` for anything else.
    """
    try:
        listed = json.loads(document.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        told = f"the list of archives is no JSON: {' '.join(str(error).split())[:200]}"
        raise ProblemError(BAD_SEARCH, told) from None
    rows = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    rows = [each for each in rows if not each.get("ignore")]
    rows.sort(key=lambda each: -_probability(each.get("probability")))
    found = [
        OtherArchive(
            0, MEMENTO, _text(each, "name") or _text(each, "id"), _text(each, "timegate"), _text(each, "timemap")
        )
        for each in rows
    ]
    found = [each for each in found if each.first or each.second]
    if not found:
        told = "the list of archives names none: each needs a timegate or a timemap, as in MemGator's archives.json"
        raise ProblemError(BAD_SEARCH, told)
    return found


def _probability(told: object) -> float:
    return float(told) if isinstance(told, (int, float)) else 0.0


def _text(row: Mapping[str, object], name: str) -> str:
    told = row.get(name)
    return told.strip() if isinstance(told, str) else ""
