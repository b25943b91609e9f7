"""Find levels whose addresses fit one, or a few, of many links that the software writes alike."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from aahcrawler.authoring.check_findings import Finding, warning
from aahcrawler.authoring.drafting.address_groups import ROLES, AddressGroup, address_groups
from aahcrawler.authoring.drafting.url_shape import Shape
from aahcrawler.authoring.evidence.expressions_tried import written
from aahcrawler.authoring.evidence.level_pages import LevelPages
from aahcrawler.authoring.file_lines import ApplicationFile
from aahcrawler.helper.links.navigation import Links
from aahcrawler.helper.site_memory.sites import Sites, site_of
from knowledge_base.model import Application, PageLevel
from knowledge_base.parsing import attributes
from knowledge_base.parsing.notes import Notes
from knowledge_base.url_rules import Paging, ParsedUrl, UrlRule

LEAST = 3
"""Links that look alike from which it matters that a level fits few of them."""
FEW = 0.5
_SHOWN = 2
_ANYTHING = frozenset({"", "**", "*", "#"})


def narrow_addresses(file: ApplicationFile, pages: LevelPages) -> Iterator[Finding]:
    """Yield the addresses, and paths of signs, that fit few of the links that saved pages show to be alike.

    Only those count that hold a part of what differs among such links, as the title or the number of one forum does,
    and only where nothing in the file says anything of the other links.
    """
    application = pages.applications.get(file.name)
    if application is None:
        return
    groups = _groups(application, pages)
    for written_as in file.root.iterchildren("level"):
        level = application.level(written_as.get("name") or "")
        rules = (each for each in written_as.iterchildren("address", "when") if attributes.names_url(each))
        for suspect in map(_Suspect.of, rules):
            said = next(filter(None, (suspect.narrow(application, level, group) for group in groups)), None)
            if said is not None:
                yield warning(file.place(suspect.element), said)


@dataclass(frozen=True, slots=True)
class _Suspect:
    """An element with a rule for URLs."""

    element: etree._Element
    rule: UrlRule

    @classmethod
    def of(cls, element: etree._Element) -> "_Suspect":
        optional = frozenset(attributes.words(element, "optional")) if element.tag == "address" else None
        return cls(element, attributes.url_rule(element, Notes(Path()), optional))

    def narrow(self, application: Application, level: PageLevel, group: AddressGroup) -> str | None:
        """Say that the rule fits few URLs of a group; None where it fits none, most, or the others are spoken of."""
        if not _is_of_one(self.rule, group.shape):
            return None
        fits, others = [], []
        for url in group.urls:
            address = ParsedUrl.parse(url)
            if self.rule.matches(address) or self.rule.matches(level.first_page(address)):
                fits.append(url)
            elif application.level_of(address) is None:
                others.append(url)
        if not fits or len(fits) > FEW * len(group.urls) or len(fits) + len(others) < LEAST:
            return None
        if len(others) <= len(fits):
            return None
        number = len(fits) + len(others)
        better = " ".join(f'{name}="{value}"' for name, value in group.shape.attributes().items())
        return (
            f"this ({written(self.element)}) fits {len(fits)} of {number} links that look alike, and no level fits the "
            f"others, such as {' and '.join(others[:_SHOWN])}; write {better}"
        )


def _groups(application: Application, pages: LevelPages) -> Sequence[AddressGroup]:
    """Return the groups of an application's saved pages and their links, site by site, without what it avoids."""
    by_site: dict[str, dict[str, None]] = defaultdict(dict)
    for saved in pages.of_application(application.name):
        links = Links(saved.page, Sites(most_hosts=0))
        own = (saved.page.url,) if saved.expected.level is not None else ()
        for url in (*own, *(url for url, _ in links.anchors)) if saved.page.is_html else own:
            address = application.canonical(ParsedUrl.parse(url))
            if links.is_here(url) and application.refusal(address) is None:
                by_site[site_of(url)][address.url] = None
    return [
        group
        for urls in by_site.values()
        for group in address_groups(urls, _paging(application))
        if group.urls[LEAST - 1 :]
    ]


def _paging(application: Application) -> Sequence[Paging]:
    return tuple(paging for level in application.levels for paging in level.paging)


def _is_of_one(rule: UrlRule, shape: Shape) -> bool:
    """Return whether a rule holds a part of what differs among the URLs of a shape, such as a title or a number.

    A whole word at the top of a site, or one that names a sort of page, is a place of its own.
    """
    common = shape.path.split("/")
    is_top = not any(part not in _ANYTHING for part in common)
    for part in rule.path.source.split("/") if rule.path is not None else ():
        if part in _ANYTHING or part in common:
            continue
        letters = sum(map(str.isalpha, part))
        if part.isdigit() or (("*" in part or "#" in part) and letters >= LEAST):
            return True
        if "*" not in part and "#" not in part and not is_top and part.lower() not in ROLES:
            return True
    named = {each.partition("=")[0] for each in shape.parameters if "=" not in each}
    return any(name in named and value.isdigit() for name, value in rule.present)
