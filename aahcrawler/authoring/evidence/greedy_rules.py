"""Find avoid rules that refuse content: saved pages, links that are expected to be followed, pages of objects."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lxml.html import HtmlElement

from aahcrawler.authoring.check_findings import Finding, warning
from aahcrawler.authoring.evidence.expressions_tried import found, reference_of, written
from aahcrawler.authoring.evidence.level_pages import LevelPages
from aahcrawler.authoring.file_lines import FileLines, Place
from aahcrawler.authoring.saved_pages import SavedPage
from aahcrawler.helper.links.ignored_links import Ignored
from aahcrawler.helper.links.navigation import Links
from aahcrawler.helper.site_memory.sites import Sites, site_of
from aahcrawler.page import Page
from knowledge_base.model import Application, LinkSource, Navigate, PageLevel
from knowledge_base.url_rules import AvoidRule, ParsedUrl

MOST = 0.75
"""The share of an action's links that a rule may refuse: some of them lead to the same pages in another order."""
LEAST = 2
"""Refused links of an action on all saved pages that say anything."""


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
    places: Mapping[AvoidRule, tuple[Place, str]]
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


def _places(application: Application, places: FileLines) -> Mapping[AvoidRule, tuple[Place, str]]:
    """Return the place and the words of each rule; rules of the kind are at the place of the application."""
    written_as = [
        (file.place(element), written(element))
        for file in places.chain(application.name)
        for element in file.root.iterfind("avoid/url")
    ]
    of_kind = (places.application(application.name), f"of the kind {application.kind}")
    rules: Sequence[AvoidRule] = application.avoid.rules
    return {rule: written_as[n] if n < len(written_as) else of_kind for n, rule in reversed(list(enumerate(rules)))}
