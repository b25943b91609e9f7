"""Adds values to the lists of a definition's file, and leaves all else in it as it stands: comments, order, layout.

Libraries that write YAML back with its comments lay out anew what nobody touched, and change quotes; so the new values
are inserted at the places that the parser tells, and the outcome is read again to see that nothing else has changed.
"""

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from offline.refinement.reference_pages import RefinementError
from offline.refinement.review_file import scalar
from online_analysis.icd import Icd

PLACES: Mapping[str, tuple[str, ...]] = {
    "keywords": ("topic", "keywords"),
    "entities": ("topic", "entities"),
    "seeds": ("seeds",),
}
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Merged:
    """The new content of a definition's file, and what was added; what the definition had is left out."""

    content: bytes
    added: Mapping[str, Sequence[str]]


def merge(path: Path, reviewed: Mapping[str, Sequence[str]]) -> Merged:
    """Return the file of a definition with the reviewed values added.

    Raises ``IcdError`` for a definition with mistakes, before or after, and ``RefinementError`` where the file is
    written so that values have to be added by hand.
    """
    icd = Icd.load(path)
    had: Mapping[str, Sequence[str]] = {
        "keywords": icd.topic.keywords,
        "entities": icd.topic.entities,
        "seeds": icd.seeds,
    }
    added = {name: new for name, values in reviewed.items() if (new := _new(values, had[name]))}
    content = path.read_bytes()
    text = content.decode("utf-8-sig")
    for name, values in added.items():
        text = _inserted(text, PLACES[name], values, path)
    merged = text.encode("utf-8-sig" if content.startswith(_BOM.encode()) else "utf-8")
    _check(path, merged, {name: [*had[name], *added.get(name, ())] for name in had}, icd)
    return Merged(merged, added)


def replace_file(path: Path, content: bytes) -> None:
    """Give a file another content, all of it or none; its rights stay. Raises ``RefinementError``."""
    try:
        target = path.resolve()
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            file.write(content)
        shutil.copymode(target, file.name)
        Path(file.name).replace(target)
    except OSError as error:
        raise RefinementError(f"{path}: cannot be written ({error.strerror})") from error


def _new(values: Sequence[str], had: Sequence[str]) -> list[str]:
    known = {value.casefold() for value in had}
    return [value for value in dict.fromkeys(values) if value.casefold() not in known]


def _check(path: Path, merged: bytes, wanted: Mapping[str, Sequence[str]], before: Icd) -> None:
    """Raise where the merged file does not say what it is meant to, or says anything else than before."""
    after = Icd.parse(merged, path)
    topic = before.topic.model_copy(update={name: tuple(wanted[name]) for name in ("keywords", "entities")})
    expected = before.model_copy(update={"topic": topic, "seeds": after.seeds})
    is_right = len(after.seeds) == len(wanted["seeds"]) and after.model_dump() == expected.model_dump()
    if not is_right:
        raise _by_hand(path, "the outcome would say something else")


def _by_hand(path: Path, why: str) -> RefinementError:
    return RefinementError(f"{path}: is left as it is, since {why}; add the values by hand")


def _inserted(text: str, place: Sequence[str], values: Sequence[str], path: Path) -> str:
    """Return the text with values added to the list at a place, which is made where there is none."""
    node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    for depth, name in enumerate(place):
        if not isinstance(node, yaml.MappingNode):
            raise _by_hand(path, f"{'.'.join(place[:depth]) or 'it'} is no mapping")
        inner = next((value for key, value in node.value if key.value == name), None)
        if inner is None:
            return _with_field(text, node, place[depth:], values)
        node = inner
    return text if node is None else _with_values(text, node, values, path)


def _with_field(text: str, mapping: yaml.MappingNode, names: Sequence[str], values: Sequence[str]) -> str:
    """Put a field before the first of a mapping."""
    listed = _flow(values)
    for name in reversed(names[1:]):
        listed = f"{{{name}: {listed}}}"
    begin = mapping.start_mark
    if mapping.flow_style:
        rest = ", " if mapping.value else ""
        return f"{text[: begin.index + 1]}{names[0]}: {listed}{rest}{text[begin.index + 1 :]}"
    return f"{text[: begin.index]}{names[0]}: {listed}{_newline(text)}{' ' * begin.column}{text[begin.index :]}"


def _with_values(text: str, node: yaml.Node, values: Sequence[str], path: Path) -> str:
    begin, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, yaml.ScalarNode):  # A definition has a list here, or nothing.
        return f"{text[:begin]}{'' if text[begin - 1].isspace() else ' '}{_flow(values)}{text[end:]}"
    if not isinstance(node, yaml.SequenceNode):
        raise _by_hand(path, "a list is expected where there is a mapping")
    if node.flow_style:
        inside = text[node.value[-1].end_mark.index if node.value else begin + 1 : end - 1]
        comma = ", " if node.value and not inside.strip().startswith(",") else ""
        return f"{text[: end - 1]}{comma}{', '.join(map(_quoted, values))}{text[end - 1 :]}"
    line_end = text.find("\n", node.value[-1].end_mark.index)
    at = len(text) if line_end < 0 else line_end + 1
    newline = _newline(text)
    lines = "".join(f"{' ' * node.start_mark.column}- {scalar(value)}{newline}" for value in values)
    return f"{text[:at]}{newline if line_end < 0 else ''}{lines}{text[at:]}"


def _flow(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, values))}]"


def _quoted(value: str) -> str:
    """Return a scalar that can stand in a list between brackets."""
    is_plain = scalar(value) == value and not any(sign in value for sign in ":?#&%")
    return value if is_plain else json.dumps(value, ensure_ascii=False)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
