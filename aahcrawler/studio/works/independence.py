"""Tell whether changes that two people made of one text are independent, and move one onto the outcome of the other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from aahcrawler.authoring.editing.edit_error import EditError
from aahcrawler.authoring.editing.edits import Add, Edit, Put, Remove
from aahcrawler.authoring.editing.entry_text import EntryText
from aahcrawler.authoring.editing.new_element import parsed
from aahcrawler.authoring.editing.places import is_within
from aahcrawler.studio.works.work_steps import Step


class DependentError(Exception):
    """A change depends on what ``step`` did."""

    def __init__(self, step: Step) -> None:
        self.step = step
        super().__init__(step.said)


class _Scope(Enum):
    """What of an element is changed: all of it, itself, or what is added to it."""

    WHOLE = auto()
    ITSELF = auto()
    ADDED = auto()


@dataclass(frozen=True, slots=True)
class _Target:
    """What a change is of. ``place`` is None where there is nothing of the kind; ``new`` tells what is added."""

    place: str
    scope: _Scope
    new: tuple[str, str] = ("", "")

    def clashes(self, other: "_Target") -> bool:
        """Return whether the two are not independent: one is at or below the other.

        The root's own attributes are independent of all below, and so are additions to one element of each other,
        unless they are of one tag and name.
        """
        scopes = {self.scope, other.scope}
        if scopes == {_Scope.ADDED}:
            return self.place == other.place and bool(self.new[1]) and self.new == other.new
        if scopes == {_Scope.ADDED, _Scope.ITSELF}:
            return False
        if _Scope.ADDED in scopes:
            whole, added = (self, other) if other.scope is _Scope.ADDED else (other, self)
            return is_within(added.place, whole.place)
        roots = [each for each in (self, other) if not each.place and each.scope is _Scope.ITSELF]
        if roots:
            return self.place == other.place
        return is_within(self.place, other.place) or is_within(other.place, self.place)


@dataclass(frozen=True, slots=True)
class _Anchor:
    """A place as an element that was there before, and the way down to it from there."""

    place: str
    below: str = ""

    @property
    def whole(self) -> str:
        return "/".join(filter(None, (self.place, self.below)))


def moved(edits: Sequence[Edit], then: EntryText, later: Sequence[Step]) -> tuple[Edit, ...]:
    """Return edits of the text ``then`` as edits of what it is after ``later`` steps.

    Raises `DependentError` for the first step that changed what they are about, and `EditError` for edits that cannot
    be made on the text that they are of.
    """
    own, text = list(_anchored(then, edits)), then
    now = {anchor.place: anchor.place for _, anchors in own for anchor in anchors.values()}
    for step in later:
        for target, after in _changes(text, step):
            mine = (_target(edit, replace(at["place"], place=now[at["place"].place])) for edit, at in own)
            if any(target.clashes(each) for each in mine):
                raise DependentError(step)
            text, now = after, _followed(after, text, now, step)
    return tuple(_written(own, now, text))


def _followed(after: EntryText, before: EntryText, now: dict[str, str], step: Step) -> dict[str, str]:
    found = {}
    for origin, place in now.items():
        there = after.followed(place, before) if after is not before else place
        if there is None:
            raise DependentError(step)
        found[origin] = there
    return found


def _changes(text: EntryText, step: Step) -> Iterator[tuple[_Target, EntryText]]:
    """Yield what each change of a step is of, with the text after it; several targets may come with one text."""
    if step.edits:
        for edit in step.edits:
            after = edit.apply(text)
            yield _target(edit, _Anchor(text.place(edit.place) or edit.place)), after
            text = after
        return
    for patch in step.patches:
        whole, around, is_cut = text.touched(patch.begin, patch.end)
        targets = [_Target(place, _Scope.WHOLE) for place in whole]
        targets.append(_Target(around, _Scope.ITSELF if is_cut else _Scope.ADDED))
        after = patch.applied(text)
        for target in targets[:-1]:
            yield target, text
        yield targets[-1], after
        text = after


def _target(edit: Edit, anchor: _Anchor) -> _Target:
    match edit:
        case Put() | Remove():
            return _Target(anchor.whole, _Scope.WHOLE)
        case Add():
            _, element = parsed(edit.xml)
            return _Target(anchor.whole, _Scope.ADDED, (str(element.tag), element.get("name") or ""))
    return _Target(anchor.whole, _Scope.ITSELF)


def _anchored(then: EntryText, edits: Sequence[Edit]) -> Iterator[tuple[Edit, dict[str, _Anchor]]]:
    """Yield edits with their places as elements of the text before all of them."""
    text = then
    origins = {place: place for place in then.places()}
    for edit in edits:
        yield edit, {name: _anchor(text, getattr(edit, name), origins) for name in _names(edit)}
        after = edit.apply(text)
        if after is not text and edit is not edits[-1]:
            places = ((after.followed(place, text), origin) for place, origin in origins.items())
            origins = {place: origin for place, origin in places if place is not None}
        text = after


def _anchor(text: EntryText, place: str, origins: dict[str, str]) -> _Anchor:
    known = text.place(place)
    if known is None:
        raise EditError(f"there is no {place} in the file (any more)")
    segments = known.split("/") if known else []
    for count in range(len(segments), -1, -1):
        above = "/".join(segments[:count])
        if above in origins:
            return _Anchor(origins[above], "/".join(segments[count:]))
    return _Anchor("", known)


def _names(edit: Edit) -> tuple[str, ...]:
    return ("place", "before") if isinstance(edit, Add) and edit.before else ("place",)


def _written(own: Sequence[tuple[Edit, dict[str, _Anchor]]], now: dict[str, str], text: EntryText) -> Iterator[Edit]:
    for edit, anchors in own:
        places = {name: replace(anchor, place=now[anchor.place]).whole for name, anchor in anchors.items()}
        made = edit.model_copy(update=places)
        yield made
        after = made.apply(text)
        if after is not text:
            # What an edit itself took away has no place that a later one could name.
            there = {origin: after.followed(place, text) for origin, place in now.items()}
            now = {origin: place if place is not None else now[origin] for origin, place in there.items()}
        text = after
