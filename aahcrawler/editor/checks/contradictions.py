"""Find mistakes in valid files: contradictions, unconfirmed guesses, and URL rules that match too much."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from re import sub

from lxml import etree
from lxml.html import HtmlElement

from aahcrawler.editor.checks.check_findings import (
    Finding,
    LevelPages,
    error,
    expression_of,
    found,
    reference_of,
    warning,
)
from aahcrawler.editor.drafting.address_groups import ROLES, AddressGroup, Shape, address_groups
from aahcrawler.editor.pages.saved_pages import SavedPage
from aahcrawler.editor.text.file_lines import ApplicationFile, FileLines, TextPlace, element_place
from aahcrawler.helper.links.navigation import Ignored, Links
from aahcrawler.helper.site_memory import Sites, site_of
from aahcrawler.page import Page
from knowledge_base.loader import MAX_FILE_SIZE
from knowledge_base.matching import Detector
from knowledge_base.model import Application, Condition, LinkSource, Navigate, PageLevel
from knowledge_base.parsing import attributes
from knowledge_base.parsing.attributes import Notes
from knowledge_base.url_rules import AvoidRule, ParsedUrl, UrlRule

_HOST = "http://site.test"
_SEGMENTS = ("", "a/b")
"""The replacements with which the two stars of a glob are tried."""
_MAX_EXAMPLES = 16
MAX_NAMED = 3
MAX_TOLD = 20
"""Guesses left in a finished file that are told one by one."""
_GUESS = re.compile(r"\s*guess:\s*(.*?)\s*", re.DOTALL)
_IMPORTANCE = ("pattern", "when", "address", "item", "identity", "navigate", "body", "url", "paging", "drop")
"""What a mistake in costs most comes first: whose page it is, then which pages are found, then what is read of them."""
_MAX_SHOWN_LENGTH = 100


def contradictions(application: Application, places: FileLines, shown: Iterable[str]) -> Iterator[Finding]:
    """Yield the contradictions in one application; ``shown`` are its levels that have a saved page."""
    hidden = {}
    for number, level in enumerate(application.levels):
        earlier = next((other for other in application.levels[:number] if _covers(other, level)), None)
        if earlier is not None:
            hidden[level.name] = earlier.name
            message = (
                f"level {level.name} is never reached, because {earlier.name} before it fits whenever it does; "
                "put the narrower one first, or add an unless to the first"
            )
            yield error(places.level(application.name, level.name), message)
    yield from _dead_ends(application, places, hidden, frozenset(shown))
    yield from _swallowed(application, places)


def rivalries(detector: Detector, saved: Sequence[SavedPage], places: FileLines) -> Iterator[Finding]:
    """Yield the saved pages that two applications claim with equal strength."""
    for page in saved:
        rivals = detector.detect(page.page).rivals
        if rivals:
            owner = page.expected.application if page.expected.application in rivals else rivals[0]
            others = " and ".join(rival for rival in rivals if rival != owner)
            message = (
                f"the saved page {page.name} is claimed by {owner} and as strongly by {others}; "
                "make a sign of one of them weaker, or add one that only its own pages have"
            )
            yield error(places.application(owner), message)


def _covers(earlier: PageLevel, later: PageLevel) -> bool:
    """Return whether an earlier level matches every page that a later one matches, judging by their conditions."""
    excluded = all(
        any((_wider(mine, theirs) and _wider(theirs, mine)) for theirs in later.unless) for mine in earlier.unless
    )
    return (
        bool(later.when) and excluded and all(any(_wider(one, other) for one in earlier.when) for other in later.when)
    )


def _wider(one: Condition, other: Condition) -> bool:
    """Return whether a condition holds whenever another one does."""
    if one.rule is not None and one.rule != other.rule:
        return False
    return one.selector is None or (other.selector is not None and one.selector.source == other.selector.source)


def _dead_ends(
    application: Application, places: FileLines, hidden: dict[str, str], shown: frozenset[str]
) -> Iterator[Finding]:
    for level in application.levels:
        for action in level.actions:
            if not isinstance(action, Navigate) or action.pages:
                continue
            target = application.level(action.to)
            place = places.action(application.name, level.name, action.name)
            if action.to in hidden:
                message = f"{action.name} leads to level {action.to}, which {hidden[action.to]} hides; see there"
                yield warning(place, message)
            elif not target.addresses and target.name not in shown:
                yield warning(
                    place,
                    f"{action.name} leads to level {action.to}, which has no <address> and no saved page: nothing "
                    "shows that it is ever reached; add <address> to it, or save a page of it with aah kb capture",
                )


def _swallowed(application: Application, places: FileLines) -> Iterator[Finding]:
    asked = _asked_for(application)
    for level in application.levels:
        found = places.level_element(application.name, level.name)
        if found is None or level.name in asked:
            continue
        file, element = found
        for address in element.iterchildren("address"):
            rules = [_refusal(application, level, example) for example in _examples(address)]
            rule = rules[0] if rules and all(rule is not None for rule in rules) else None
            if rule is not None:
                message = (
                    f"level {level.name} documents this URL, but an avoid rule ({rule.reason}{_where(rule)}) "
                    "refuses all such URLs; narrow the rule with parameters or absent, or take one of them out"
                )
                yield error(file.place(address), message)


def _asked_for(application: Application) -> frozenset[str]:
    """Return the levels that requests and forms lead to; refusing links to these on pages is intended."""
    actions = (action for level in application.levels for action in level.actions)
    return frozenset(
        action.to for action in actions if isinstance(action, Navigate) and (action.requests or action.forms)
    )


def _where(rule: AvoidRule) -> str:
    return f", path {rule.rule.path.source}" if rule.rule.path is not None else ""


def _refusal(application: Application, level: PageLevel, example: ParsedUrl) -> AvoidRule | None:
    """Return the rule that refuses an example of a level; None also if the example turns out to be of another level."""
    canonical = application.canonical(example)
    return application.refusal(canonical) if level.documents(canonical) else None


def _examples(address: etree._Element) -> Iterator[ParsedUrl]:
    """Yield URLs that an ``address`` element describes."""
    parameters = [
        f"{name}={_filled(value) if sign else '1'}"
        for name, sign, value in (part.partition("=") for part in (address.get("parameters") or "").split())
    ]
    query = address.get("query")
    shown = [_filled(query)] if query else []
    parts = (address.get("path") or "**").lstrip("/").split("/")
    choices = [_SEGMENTS if part == "**" else (_filled(part),) for part in parts]
    for chosen, _ in zip(product(*choices), range(_MAX_EXAMPLES), strict=False):
        last = chosen[-1]
        path = "/" + "/".join([*(part for part in chosen[:-1] if part), last])
        yield ParsedUrl.parse(f"{_HOST}{path}{'?' if parameters or shown else ''}{'&'.join([*shown, *parameters])}")


def _filled(glob: str) -> str:
    """Return a text that matches a glob.

    >>> _filled("topic-*-#.h?m[lx]")
    'topic-a1-12.haml'
    """
    glob = sub(r"\[!?(.)[^]]*\]", r"\1", glob)
    return glob.replace("*", "a1").replace("#", "12").replace("?", "a")


@dataclass(frozen=True, slots=True)
class _Guess:
    place: TextPlace
    said: str
    weight: int


def open_guesses(file: ApplicationFile) -> Iterator[Finding]:
    """Yield what is unconfirmed: one finding for a draft, one for each guess in a file that is no draft any more."""
    guesses = sorted(_guesses(file), key=lambda guess: guess.weight)
    if (file.root.get("draft") or "").strip() == "yes":
        yield warning(file.place(), _of_draft(guesses), is_guess=True)
        return
    for guess in sorted(guesses, key=lambda guess: guess.place.line)[:MAX_TOLD]:
        told = f"this is still marked as a guess ({guess.said}): confirm or correct it, then remove the mark"
        yield warning(guess.place, told, is_guess=True)
    if len(guesses) > MAX_TOLD:
        told = f'{len(guesses)} guesses are left; write draft="yes" until they are confirmed'
        yield warning(file.place(), told, is_guess=True)


def _of_draft(guesses: list[_Guess]) -> str:
    if not guesses:
        return 'this is a draft, and no guess is left in it; take draft="yes" out'
    first = "; ".join(f"line {guess.place.line} ({guess.said})" for guess in guesses[:MAX_NAMED])
    number = "1 guess" if len(guesses) == 1 else f"{len(guesses)} guesses"
    more = ", most important first" if len(guesses) > 1 else ""
    return (
        f"this is a draft: {number} nobody has confirmed{more}: {first}{'; ...' if len(guesses) > MAX_NAMED else ''}. "
        'Confirm or correct each, remove its mark, then take draft="yes" out'
    )


def _guesses(file: ApplicationFile) -> Iterator[_Guess]:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        with file.path.open("rb") as opened:
            root = etree.fromstring(opened.read(MAX_FILE_SIZE), parser)
    except (OSError, etree.XMLSyntaxError):
        return
    for comment in root.iter(etree.Comment):
        found = _GUESS.fullmatch(comment.text or "")
        if found is not None:
            about = next((each for each in comment.itersiblings() if isinstance(each.tag, str)), comment.getparent())
            element = root if about is None else about
            said = " ".join(found[1].split())
            said = said if len(said) <= _MAX_SHOWN_LENGTH else f"{said[:_MAX_SHOWN_LENGTH]}..."
            yield _Guess(
                TextPlace(str(file.path), element.sourceline or 0, element_place(element)), said, _weight(element)
            )


def _weight(element: etree._Element) -> int:
    """Return the rank of a guess, by the part of the file that it concerns."""
    for each in (element, *element.iterancestors()):
        word = "body" if each.tag == "field" and each.get("name") == "body" else str(each.tag)
        if word in _IMPORTANCE:
            return _IMPORTANCE.index(word)
    return len(_IMPORTANCE)


MAX_REFUSED_SHARE = 0.75
"""The share of an action's links that a rule may refuse: some of them lead to the same pages in another order."""
MIN_REFUSED = 2
"""Refused links of an action on all saved pages that say anything."""
MIN_ALIKE = 3
"""Links that look alike from which it matters that a level fits few of them."""
FEW = 0.5
_SHOWN = 2
_ANYTHING = frozenset({"", "**", "*", "#"})


def greedy_rules(application: Application, pages: LevelPages) -> Iterator[Finding]:
    """Yield the avoid rules of an application that refuse what its saved pages show to be content."""
    rules = _Rules(application, _places(application, pages.places))
    for saved in pages.of_application(application.name):
        if saved.expected.level is not None:
            rules.read(saved)
    yield from rules.findings()


@dataclass
class _Rules:
    """The avoid rules of an application, and the links that they refuse on saved pages."""

    application: Application
    places: Mapping[AvoidRule, tuple[TextPlace, str]]
    refused: dict[AvoidRule, dict[str, str]] = field(default_factory=dict)
    _links: Counter[tuple[str, str]] = field(default_factory=Counter)
    _lost: Counter[tuple[str, str, AvoidRule]] = field(default_factory=Counter)

    def read(self, saved: SavedPage) -> None:
        """Apply the rules to a page's expected content and the links that its actions find."""
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
            if number >= MIN_REFUSED and number > MAX_REFUSED_SHARE * of:
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
        """The actions that request URLs on purpose, to which avoid rules do not apply."""
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
        (file.place(element), expression_of(element))
        for file in places.chain(application.name)
        for element in file.root.iterfind("avoid/url")
    ]
    of_kind = (places.application(application.name), f"of the kind {application.kind}")
    rules: Sequence[AvoidRule] = application.avoid.rules
    return {rule: written_as[n] if n < len(written_as) else of_kind for n, rule in reversed(list(enumerate(rules)))}


def narrow_addresses(file: ApplicationFile, pages: LevelPages) -> Iterator[Finding]:
    """Yield the addresses, and paths of signs, that match only few of the links which saved pages show to be alike.

    Only those are reported that contain a part which differs among such links, such as the title or number of one
    forum, and only if nothing in the file covers the other links.
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
        """Return a message that the rule matches few URLs of a group.

        None if it matches none or most, or others are covered.
        """
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
            f"this ({expression_of(self.element)}) fits {len(fits)} of {number} links that look alike, and no level "
            f"fits the others, such as {' and '.join(others[:_SHOWN])}; write {better}"
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
    """Return whether a rule contains a part that differs among the URLs of a shape, such as a title or a number.

    A whole word at the top of a site, or a word for a sort of page, is not such a part.
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
