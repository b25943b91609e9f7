"""Group the addresses of a site that are alike."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from aahcrawler.authoring.drafting.url_generalisation import Shape, shape_of
from knowledge_base.url_rules import ParsedUrl


@dataclass(frozen=True, slots=True)
class AddressGroup:
    """URLs of one shape, in their order."""

    shape: Shape
    urls: tuple[str, ...]


def address_groups(urls: Iterable[str]) -> tuple[AddressGroup, ...]:
    """Return the URLs by the shapes that each has, the largest group first."""
    found: defaultdict[Shape, list[str]] = defaultdict(list)
    for url in sorted(set(urls)):
        found[shape_of(ParsedUrl.parse(url))].append(url)
    groups = (AddressGroup(shape, tuple(members)) for shape, members in found.items())
    return tuple(sorted(groups, key=lambda group: (-len(group.urls), group.urls)))
