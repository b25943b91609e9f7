"""Find the links that navigation should have found, by their URLs and by those followed before."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lxml.etree import XPathError
from lxml.html import HtmlElement

from aahcrawler import induction
from aahcrawler.adaptation.detection.failure_detection import Shape, TrackRecord
from aahcrawler.adaptation.detection.level_fallback import is_telling
from aahcrawler.adaptation.learned import Backoff, LearnedLinks, LruMapping, Rejected
from aahcrawler.helper.adaptation_protocol import Followed
from aahcrawler.helper.assistance import Failure
from aahcrawler.helper.links.navigation import ChosenLink, Links
from aahcrawler.induction import Nature
from aahcrawler.metadata import Metadata
from aahcrawler.wrapper_induction.examples import Method
from aahcrawler.wrapper_induction.link_selectors import LabelledLinks, induce_links
from knowledge_base.model import Application, LinkSource, Navigate, PageLevel

MAX_LEVELS = 4_000
FAMILIAR = 0.6
"""The share of a page's names of elements that it has in common with others of its template."""
MAX_TOKENS = 400
IN_FORCE = 2
"""The number of pages after which links found by other means are expected and no longer reported."""
MAX_WAYS, MAX_ADOPTED = 3, 6
"""Learned actions of one level that are remembered for its site, and for other sites."""
MAX_EXAMPLES = 3
MAX_KEPT = 2_000_000
"""Bytes of all pages whose links are kept until something is learned of them."""
ABOVE = 3
"""The number of ancestors of a link whose names and classes describe its place."""

_Stand = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Target:
    """The record, on one site, of a level's actions that lead to one other level."""

    record: TrackRecord = field(default_factory=TrackRecord)
    backoff: Backoff = field(default_factory=Backoff)
    tokens: frozenset[str] = frozenset()
    """Names of elements of the first page on which they worked."""
    helped: int = 0
    """Pages on which other links took the place of theirs."""
    ways: list[tuple[LearnedLinks, LinkSource]] = field(default_factory=list)
    """The actions learned on the site, the newest first."""

    def note(self, count: int, tree: HtmlElement) -> None:
        """Add a page with so many links."""
        self.record.note(Shape(count, frozenset(), 0))
        if count and not self.tokens:
            self.tokens = _tokens(tree)
        self.helped = 0 if count else self.helped

    def has_changed(self, tree: HtmlElement) -> bool:
        """Return whether pages without such links are too many in a row, and look different from those with some."""
        if not self.record.is_unusually_empty():
            return False
        return len(self.tokens & _tokens(tree)) < FAMILIAR * len(self.tokens)


@dataclass(frozen=True, slots=True)
class _Leading:
    """The actions of a level, by name, that lead to one level, on one page."""

    links: Links
    application: Application
    level: PageLevel
    target: PageLevel
    actions: tuple[str, ...]
    before: frozenset[str]

    def url_of(self, url: str) -> str | None:
        """Return the canonical form of a URL that may be followed, None for others and for this very page."""
        if not self.links.is_here(url):
            return None
        verdict = self.links.judge(self.application, url)
        here = self.links.sites.verdict(self.application, self.links.page.url).url
        if verdict is None or verdict.url == here or verdict.level not in (None, self.target):
            return None
        return verdict.url

    def leads_to_target(self, url: str) -> bool:
        """Return whether a URL is one that the level documents."""
        return self.links.sites.verdict(self.application, url).level is self.target

    def counted(self, reference: str, element: HtmlElement) -> str | None:
        """Return the canonical URL of a link that may be followed, None for others."""
        url = self.links.resolve(reference)
        return self.url_of(url) if url is not None and not self.links.ignored.covers(element) else None

    def chosen(self, found: Iterable[tuple[str, HtmlElement | None]]) -> Iterator[ChosenLink]:
        """Yield links as the first of the actions would have chosen them."""
        for url, element in found:
            canonical = self.url_of(url)
            if canonical is not None:
                yield ChosenLink(canonical, element, self.actions[0])


_Name = tuple[str, str, str]
"""Application, level, and the level that is led to."""


class LinkRepair:
    """Repairs the navigation actions of all sites; a few numbers for each level of each.

    ``told`` is called with each action that was learned; nothing that is ``rejected`` is.
    """

    def __init__(self, told: Callable[[LearnedLinks], None] | None = None, rejected: Rejected | None = None) -> None:
        self._told = told
        self._rejected = rejected or Rejected()
        self._targets: LruMapping[tuple[str, PageLevel, str], _Target] = LruMapping(MAX_LEVELS)
        self._adopted: LruMapping[_Name, list[tuple[LearnedLinks, LinkSource]]] = LruMapping(MAX_LEVELS)
        self._examples: OrderedDict[tuple[str, PageLevel, str], list[LabelledLinks]] = OrderedDict()

    def adopt(self, learned: LearnedLinks) -> None:
        """Use an action that was learned elsewhere or before, wherever those of the file find nothing.

        An action that is known already changes nothing. Raises ``knowledge_base.selectors.BadExpressionError`` for one
        that cannot be compiled.
        """
        known = self._adopted.get((learned.application, learned.level, learned.to), list)
        if all(each != learned for each, _ in known):
            known[:] = [(learned, learned.navigate().sources[0]), *known][:MAX_ADOPTED]

    def followed(
        self,
        links: Links,
        application: Application,
        level: PageLevel,
        chosen: Sequence[ChosenLink],
        former: Metadata | None,
    ) -> Followed:
        """Add links to those levels that no action led to although one should have."""
        found = list(chosen)
        stopped: list[str] = []
        for leading in _leading(links, application, level, former):
            target = self._targets.get((links.site, level, leading.target.name), _Target)
            count = sum(each.action in leading.actions for each in chosen)
            target.note(count, links.page.tree)
            if count:
                continue
            more = self._learned(leading, target)
            if not more and _is_missed(leading, target, leads_nowhere=not chosen):
                more = self._more(leading, target)
                target.helped += bool(more)
                if more and target.helped <= IN_FORCE:
                    stopped.append(leading.actions[0])
            known = {each.url for each in found}
            found += [each for each in more if each.url not in known]
        return Followed(tuple(found), tuple(stopped))

    def _learned(self, leading: _Leading, target: _Target) -> tuple[ChosenLink, ...]:
        """Return the links of the first learned action that finds any, those of the site before others.

        An action that misses a link whose URL is documented, or which a former crawl followed, does not count.
        """
        name = (leading.application.name, leading.level.name, leading.target.name)
        others = self._adopted.get(name, list) if name in self._adopted else ()
        for learned, source in (*target.ways, *others):
            if learned.site == leading.links.site or is_telling(leading.target, leading.links.page.url):
                found = _sourced(leading, source, strictly=learned.site != leading.links.site)
                known = {each.url for each in found}
                if found and known.issuperset(each.url for each in (*_as_before(leading), *_by_address(leading))):
                    return found
        return ()

    def _more(self, leading: _Leading, target: _Target) -> tuple[ChosenLink, ...]:
        before = _as_before(leading)
        by_address = _by_address(leading)
        if before or by_address or not target.backoff.allows():
            found = tuple({each.url: each for each in (*before, *by_address)}.values())
            method = Method.MEMORY if before else Method.RELAXED
        else:
            found, method = _teased(leading), Method.INDUCED
            if found:
                target.backoff.succeeded()
            else:
                target.backoff.failed()
        if found:
            self._learn(leading, target, found, method)
        return found

    def _learn(self, leading: _Leading, target: _Target, found: tuple[ChosenLink, ...], method: Method) -> None:
        """Learn from the last pages whose links were found, and put in force an action that finds all these links."""
        examples = self._kept(leading, found, method)
        documented = all(leading.leads_to_target(url) for example in examples for url in example.links)
        tells = documented and is_telling(leading.target, leading.links.page.url)
        induced = induce_links(examples, documented=tells)
        if induced is None:
            return
        expression, any_documented = induced
        site = leading.links.site
        numbers = {learned.name.rpartition("-")[2] for learned, _ in target.ways}
        number = next(number for number in range(1, len(numbers) + 2) if str(number) not in numbers)
        learned = LearnedLinks(
            site=site,
            application=leading.application.name,
            level=leading.level.name,
            action=leading.actions[0],
            to=leading.target.name,
            name=f"learned-{leading.actions[0]}-{number}",
            expression=expression,
            documented=any_documented,
            method=min((example.method for example in examples), key=tuple(Method).index),
            failure=Failure.STOPPED_WORKING.value if target.record.found else Failure.NOTHING_FOUND.value,
            pages=tuple(example.url for example in examples),
            before=0,
            after=sum(len(example.links) for example in examples),
            confidence=round((len(examples) + 1) / (len(examples) + 2), 4),
            date=max(example.fetched_at for example in examples),
        )
        self._examples.pop((site, leading.level, leading.target.name), None)
        if self._rejected.covers(learned):
            return
        target.ways = [(learned, learned.navigate().sources[0]), *target.ways][:MAX_WAYS]
        if self._told is not None:
            self._told(learned)

    def _kept(self, leading: _Leading, found: tuple[ChosenLink, ...], method: Method) -> list[LabelledLinks]:
        """Keep the links of a page with those of the pages before, of all sites no more than a few pages."""
        page = leading.links.page
        key = (leading.links.site, leading.level, leading.target.name)
        links = {each.url: each.element for each in found if isinstance(each.element, HtmlElement)}
        example = LabelledLinks(page.url, page.tree, page.fetched_at, links, leading.counted, method, len(page.body))
        examples = [each for each in self._examples.pop(key, []) if each.url != page.url]
        if links:
            examples.append(example)
        self._examples[key] = examples[-MAX_EXAMPLES:]
        while (
            sum(each.size for kept in self._examples.values() for each in kept) > MAX_KEPT and len(self._examples) > 1
        ):
            self._examples.popitem(last=False)
        return self._examples[key] if len(page.body) <= MAX_KEPT else []


def _leading(links: Links, application: Application, level: PageLevel, former: Metadata | None) -> Iterator[_Leading]:
    """Yield each level that actions with expressions lead to, with the links that a former crawl followed there."""
    names: dict[str, dict[str, None]] = {}
    for actions in (level.actions, *(variant.actions for variant in level.variants)):
        for action in actions:
            if isinstance(action, Navigate) and action.sources:
                names.setdefault(action.to, {})[action.name] = None
    known = former.links if former is not None and former.level == level.name else ()
    for to, leading in names.items():
        before = frozenset(link.url for link in known if link.action in leading)
        yield _Leading(links, application, level, application.level(to), tuple(leading), before)


def _is_missed(leading: _Leading, target: _Target, *, leads_nowhere: bool) -> bool:
    """Return whether a page without a link to a level should have one.

    It should if it used to have one, if too many pages in a row have none and look different, and if a list has never
    led to its entries. Links among pages of one level are missing at the end of every list, which proves nothing.
    """
    if leading.before:
        return True
    if leading.target is leading.level:
        return False
    deeper = leading.target.role == "terminal" or (leads_nowhere and not leading.target.start)
    is_list = leading.level.role == "intermediate" and deeper
    return (is_list and not target.record.found) or target.has_changed(leading.links.page.tree)


def _tokens(tree: HtmlElement) -> frozenset[str]:
    """Return ids and classes of a page without digits, which distinguish objects; the first ones if there are many."""
    found: dict[str, None] = {}
    for element in tree.iter("*"):
        for token in ((element.get("class") or "") + " " + (element.get("id") or "")).split():
            found.setdefault(token.rstrip("0123456789-_"))
        if len(found) > MAX_TOKENS:
            break
    return frozenset(found)


def _by_address(leading: _Leading) -> tuple[ChosenLink, ...]:
    """Return the links whose URL the level documents, unless it documents any URL."""
    if not leading.target.addresses or not is_telling(leading.target, leading.links.page.url):
        return ()
    verdict = leading.links.sites.verdict
    anchors = (
        (url, element)
        for url, element in leading.links.anchors
        if verdict(leading.application, url).level is leading.target
    )
    return tuple(leading.chosen(anchors))


def _as_before(leading: _Leading) -> tuple[ChosenLink, ...]:
    """Return the links that a former crawl followed from here, and those in the same places now."""
    if not leading.before:
        return ()
    stands = {_stand(element) for url, element in leading.links.anchors if leading.url_of(url) in leading.before}
    return tuple(leading.chosen(each for each in leading.links.anchors if _stand(each[1]) in stands))


def _stand(element: HtmlElement) -> _Stand:
    found: list[tuple[str, str]] = []
    current: HtmlElement | None = element
    while current is not None and len(found) <= ABOVE:
        found.append((str(current.tag), current.get("class") or ""))
        current = current.getparent()
    return tuple(found)


def _sourced(leading: _Leading, source: LinkSource, *, strictly: bool) -> tuple[ChosenLink, ...]:
    """Return the links that a learned expression finds; with ``strictly``, none if one is not of the level."""
    try:
        elements = source.selector.elements(leading.links.page.tree, leading.links.page.elements)
    except XPathError:
        return ()
    found: dict[str, ChosenLink] = {}
    for element in elements:
        url = leading.counted(element.get("href") or "", element)
        if url is None or (source.documented and not leading.leads_to_target(url)):
            continue
        if strictly and not leading.leads_to_target(url):
            return ()
        found.setdefault(url, ChosenLink(url, element, leading.actions[0]))
    return tuple(found.values())


def _teased(leading: _Leading) -> tuple[ChosenLink, ...]:
    """Return the links of the entries of lists in the page's main part."""
    elements: Mapping[str, HtmlElement] = dict(leading.links.anchors)
    targets = (
        record.target
        for records in induction.records(leading.links.page)
        if records.nature is Nature.TEASERS and not records.aside
        for record in records.records
        if record.target is not None
    )
    return tuple(leading.chosen((url, elements.get(url)) for url in targets))
