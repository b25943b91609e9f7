"""Asks what groups of URLs lead to: lists, content, or nothing new; each answer is written as edits of the draft."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from lxml import etree

from aahcrawler.editor.drafting import annotated_xml
from aahcrawler.editor.drafting.address_groups import AddressGroup, Shape
from aahcrawler.editor.drafting.doubts import Change, Choice, Guesses, removal
from aahcrawler.editor.drafting.level_plans import LevelPlan
from aahcrawler.editor.drafting.url_generalisation import reason_of
from knowledge_base.url_rules import ParsedUrl, Reason

MAX_LEFT = 8
"""Groups of URLs of no level that a draft asks about."""
MAX_WORDS = 6
"""Words at the end of the URLs of a group that have rules of their own."""
_PLAIN = re.compile(r"[A-Za-z_-]+")
_OF_GUESSED, _OF_LEFT, _FOR_EACH = 0.5, 0.6, 0.3


def ask_about_levels(root: etree._Element, levels: Sequence[LevelPlan], guesses: Guesses) -> None:
    """Doubt each level that was only guessed from links: its URLs may lead to content, or to neither."""
    for level in levels:
        element = next((each for each in root.iter("level") if each.get("name") == level.name), None)
        if element is None or level.pages or level.terminal or level.start:
            continue
        away = [*_leading_to(root, level.name), element]
        gone = tuple(Change("remove", each) for each in away)
        choices = [removal("they lead neither to lists nor to content", *away)]
        content = tuple(_as_content(root, level.shape))
        if content:
            choices.append(Choice("they lead to content", (*content, *gone)))
        said = f"a word in URLs like {level.urls[0]} says that they lead to lists" if level.urls else "these are lists"
        guesses.mark(element, said, _OF_GUESSED - _FOR_EACH / max(len(level.urls), 1) / 2, choices)


def ask_about_groups(
    root: etree._Element, groups: Iterable[AddressGroup], guesses: Guesses, levels: Sequence[LevelPlan]
) -> None:
    """Doubt that URLs which are of no level and not avoided lead to nothing: to lists, content, or nothing new."""
    for number, group in enumerate(groups):
        if number == MAX_LEFT:
            return
        alike = f"{len(group.urls)} URLs like {group.urls[0]}" if len(group.urls) > 1 else group.urls[0]
        said = f"the draft does not say yet what {alike} {'are' if len(group.urls) > 1 else 'is'} for"
        guesses.note(root, said, _OF_LEFT - _FOR_EACH / len(group.urls), list(_uses(root, group, levels)))


def _uses(root: etree._Element, group: AddressGroup, levels: Sequence[LevelPlan]) -> Iterator[Choice]:
    content = tuple(_as_content(root, group.shape))
    if content:
        yield Choice("they lead to content", content)
    lists = tuple(_as_lists(root, group.shape))
    if lists:
        yield Choice("they lead to lists", lists)
    shapes = avoidable(group, levels)
    if shapes:
        yield Choice("they lead to nothing new; avoid them", tuple(_as_avoided(root, group, shapes)))


def avoidable(group: AddressGroup, levels: Sequence[LevelPlan]) -> tuple[Shape, ...]:
    """Return the shapes of rules that refuse a group and no further page of a level; none if none can.

    Where the shape of the group fits such pages, each word at the end of its URLs has a rule of its own.
    """
    further = [ParsedUrl.parse(url) for level in levels for url in _further_pages(group.urls[0], level)]
    if not any(group.shape.rule.matches(page) for page in further):
        return (group.shape,)
    before, slash, last = group.shape.path.rpartition("/")
    words = dict.fromkeys(ParsedUrl.parse(url).segments[-1] for url in group.urls)
    if last != "*" or len(words) > MAX_WORDS or not all(_PLAIN.fullmatch(word) for word in words):
        return ()
    return tuple(replace(group.shape, path=f"{before}{slash}{word}") for word in words)


def _further_pages(url: str, level: LevelPlan) -> Iterator[str]:
    """Yield a URL of a second page of a level, for each shape that such URLs have."""
    host = "/".join(url.split("/")[:3])
    for shape in level.beyond:
        yield host + "/" + shape.path.removeprefix("**").lstrip("/").replace("#", "2").replace("*", "x")


def _as_content(root: etree._Element, shape: Shape) -> Iterator[Change]:
    """Yield the changes that make URLs of a shape those of the content that the draft reads."""
    level = next((each for each in root.iter("level") if each.find("extract") is not None), None)
    address = level.find("address") if level is not None else None
    item = level.find("extract/item") if level is not None else None
    if level is None or address is None or item is None:
        return
    expression = {name: str(value) for name, value in item.attrib.items() if name in ("css", "xpath")}
    sign = expression if not expression.get("css", "").startswith("body") else {}
    when = _element("when", {**sign, **shape.attributes(), "cite": annotated_xml.UNPROVEN})
    yield Change("add", level, xml=when, before=address)
    optional = address.get("optional")
    further = shape.attributes() | ({"optional": optional} if optional else {})
    yield Change("add", level, xml=_element("address", further), before=address)


def _as_lists(root: etree._Element, shape: Shape) -> Iterator[Change]:
    """Yield the changes that make a level of lists of a shape, which lists lead to and which leads to all others."""
    levels = list(root.iter("level"))
    terminal = next((each for each in levels if each.get("role") == "terminal"), None)
    if terminal is None:
        return
    taken = {each.get("name") for each in levels}
    name = next(each for number in range(1, len(levels) + 2) if (each := f"list-{number}") not in taken)
    level = _element("level", {"name": name, "role": "intermediate"})
    level.append(_element("when", {**shape.attributes(), "cite": annotated_xml.UNPROVEN}))
    level.append(_element("address", shape.attributes()))
    for target in (each for each in levels if each.get("start") != "yes"):
        level.append(_navigation(target.get("name") or ""))
    yield Change("add", root, xml=level, before=terminal)
    for source in (each for each in levels if each.get("role") == "intermediate"):
        yield Change("add", source, xml=_navigation(name))


def _as_avoided(root: etree._Element, group: AddressGroup, shapes: Sequence[Shape]) -> Iterator[Change]:
    reason = reason_of(group) or Reason.ACTION
    cite = f"{annotated_xml.UNPROVEN}, {group.urls[0]}"
    rules = [_element("url", {"reason": reason.value, **shape.attributes(), "cite": cite}) for shape in shapes]
    avoid = root.find("avoid")
    if avoid is not None:
        yield from (Change("add", avoid, xml=url) for url in rules)
        return
    new = etree.Element("avoid")
    new.extend(rules)
    yield Change("add", root, xml=new, before=root.find("level"))


def _navigation(target: str) -> etree._Element:
    navigate = _element("navigate", {"name": f"to-{target}", "to": target})
    navigate.append(_element("select", {"css": "a", "documented": "yes", "cite": annotated_xml.UNPROVEN}))
    return navigate


def _element(tag: str, attributes: dict[str, str]) -> etree._Element:
    return etree.Element(tag, attributes)


def _leading_to(root: etree._Element, name: str) -> list[etree._Element]:
    """Return the navigation actions of other levels that lead to a level."""
    found = (each for each in root.iter("navigate") if each.get("to") == name)
    return [each for each in found if (above := each.getparent()) is None or above.get("name") != name]
