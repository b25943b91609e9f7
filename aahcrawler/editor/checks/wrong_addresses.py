"""Find rules about URLs that take too much, or too little: what avoid rules refuse, and what addresses leave out."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lxml import etree
from lxml.html import HtmlElement

from aahcrawler.editor.checks.check_findings import Finding, LevelPages, found, reference_of, warning, written
from aahcrawler.editor.drafting.address_groups import ROLES, AddressGroup, Shape, address_groups
from aahcrawler.editor.pages.saved_pages import SavedPage
from aahcrawler.editor.text.file_lines import ApplicationFile, FileLines, TextPlace
from aahcrawler.helper.links.navigation import Ignored, Links
from aahcrawler.helper.site_memory import Sites, site_of
from aahcrawler.page import Page
from knowledge_base.model import Application, LinkSource, Navigate, PageLevel
from knowledge_base.parsing import attributes
from knowledge_base.parsing.attributes import Notes
from knowledge_base.url_rules import AvoidRule, ParsedUrl, UrlRule

MOST = 0.75
"""The share of an action's links that a rule may refuse: some of them lead to the same pages in another order."""
LEAST = 2
"""Refused links of an action on all saved pages that say anything."""
MIN_ALIKE = 3
"""Links that look alike from which it matters that a level fits few of them."""
FEW = 0.5
_SHOWN = 2
_ANYTHING = frozenset({"", "**", "*", "#"})


def greedy_rules(application: Application, pages: LevelPages) -> Iterator[Finding]:
    """Yield the avoid rules of an application that cut off what its saved pages show to be content."""
    rules = _Rules(application, _places(application, pages.places))
    for saved in pages.of_application(application.name):
        if saved.expected.level is not None:
            rules.read(saved)
    yield from rules.findings()


@dataclass
class _Rules:
    """The avoid rules of an application, and what they were seen to refuse."""

    application: Application
    places: Mapping[AvoidRule, tuple[TextPlace, str]]
    refused: dict[AvoidRule, dict[str, str]] = field(default_factory=dict)
    _links: Counter[tuple[str, str]] = field(default_factory=Counter)
    _lost: Counter[tuple[str, str, AvoidRule]] = field(default_factory=Counter)

    def read(self, saved: SavedPage) -> None:
        """Take in what the expectation of a page says to be content, and what its actions find."""
        expected = saved.expected
        level = self.application.level(expected.level or "")
        if level.role == "terminal":
            self._note(saved.page.url, level, f"the saved page {saved.name}")
        for url, action in expected.links.items():
            if site_of(url) == site_of(saved.page.url) and action not in self._asking:
                self._note(url, self._target(action), f"a link that is expected to be followed from {saved.name}")
        for row in expected.objects:
            if site_of(row.iri) == site_of(saved.page.url):
                self._note(row.iri, None, f"the page of an object of {saved.name}")
        self._read_actions(saved, level)

    def findings(self) -> Iterator[Finding]:
        """Yield a finding for each rule, with what it refuses first."""
        for (level, action, rule), number in self._lost.items():
            of = self._links[level, action]
            if number >= LEAST and number > MOST * of:
                what = f"{number} of the {of} links that the action {action} of level {level} finds"
                self.refused.setdefault(rule, {}).setdefault("", what)
        for rule, refused in self.refused.items():
            place, words = self.places[rule]
            url, what = next(iter(refused.items()))
            more = f", and {len(refused) - 1} more" if len(refused) > 1 else ""
            yield warning(
                place,
                f"this rule ({rule.reason}: {words}) refuses {what}{f': {url}' if url else ''}{more}; narrow it with a "
                "longer path, with parameters or absent, or take it out",
            )

    @property
    def _asking(self) -> frozenset[str]:
        """The actions that ask for URLs on purpose, which rules for links on pages do not keep them from."""
        actions = (action for level in self.application.levels for action in level.actions)
        return frozenset(each.name for each in actions if isinstance(each, Navigate) and (each.requests or each.forms))

    def _target(self, action: str | None) -> PageLevel | None:
        actions = (each for level in self.application.levels for each in level.actions)
        named = (each for each in actions if isinstance(each, Navigate) and each.name == action)
        return next((self.application.level(each.to) for each in named), None)

    def _note(self, url: str, level: PageLevel | None, what: str) -> None:
        address = self.application.canonical(ParsedUrl.parse(url))
        rule = self.application.refusal(address)
        if rule is not None and (level is None or not self._is_asked_for(level)):
            self.refused.setdefault(rule, {}).setdefault(address.url, what)

    def _is_asked_for(self, level: PageLevel) -> bool:
        actions = (each for other in self.application.levels for each in other.actions)
        return any(
            isinstance(each, Navigate) and (each.requests or each.forms) and each.to == level.name for each in actions
        )

    def _read_actions(self, saved: SavedPage, level: PageLevel) -> None:
        links = Links(saved.page, Sites(most_hosts=0), ignored=_ignored(self.application, saved.page))
        for action in level.actions:
            if not isinstance(action, Navigate) or not action.sources or action.name in self._asking:
                continue
            urls = {url for source in action.sources for url in _targets(source, links)}
            for url in urls:
                address = self.application.canonical(ParsedUrl.parse(url))
                rule = self.application.refusal(address)
                self._links[level.name, action.name] += 1
                # A rule for parameters alone is about a deed, such as to write a page that is not there yet.
                if rule is not None and rule.rule.path is not None:
                    self._lost[level.name, action.name, rule] += 1


def _targets(source: LinkSource, links: Links) -> Iterator[str]:
    """Yield the URLs on the page's own site that a part of an action finds, whatever becomes of them."""
    for node in found(source.selector, links.page.tree, links.page) if not source.documented else ():
        url = links.resolve(reference_of(node, source.selector))
        ignored = links.ignored
        is_ignored = ignored.covers_reference(node) if isinstance(node, str) else ignored.covers(node)
        if url is not None and links.is_here(url) and not is_ignored:
            yield url


def _ignored(application: Application, page: Page) -> Ignored:
    """Return the parts of a page whose links lead nowhere."""
    nodes = (node for each in application.ignored for node in found(each, page.tree, page))
    return Ignored(page.tree, (node for node in nodes if isinstance(node, HtmlElement)))


def _places(application: Application, places: FileLines) -> Mapping[AvoidRule, tuple[TextPlace, str]]:
    """Return the place and the words of each rule; rules of the kind are at the place of the application."""
    written_as = [
        (file.place(element), written(element))
        for file in places.chain(application.name)
        for element in file.root.iterfind("avoid/url")
    ]
    of_kind = (places.application(application.name), f"of the kind {application.kind}")
    rules: Sequence[AvoidRule] = application.avoid.rules
    return {rule: written_as[n] if n < len(written_as) else of_kind for n, rule in reversed(list(enumerate(rules)))}


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
        if not fits or len(fits) > FEW * len(group.urls) or len(fits) + len(others) < MIN_ALIKE:
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
        for group in address_groups(urls, tuple(paging for level in application.levels for paging in level.paging))
        if group.urls[MIN_ALIKE - 1 :]
    ]


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
        if part.isdigit() or (("*" in part or "#" in part) and letters >= MIN_ALIKE):
            return True
        if "*" not in part and "#" not in part and not is_top and part.lower() not in ROLES:
            return True
    named = {each.partition("=")[0] for each in shape.parameters if "=" not in each}
    return any(name in named and value.isdigit() for name, value in rule.present)
