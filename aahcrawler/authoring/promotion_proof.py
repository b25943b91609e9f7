"""Puts a changed knowledge base to the proof before it is written: on the pages of the evidence and on saved ones."""

from collections.abc import Iterable, Iterator, Sequence

from aahcrawler import urls
from aahcrawler.adaptation.store.learned import Learned, LearnedAction, LearnedLinks, LearnedSign
from aahcrawler.authoring.saved_pages import SavedPage, as_text
from aahcrawler.authoring.trial import Trial
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.helper.extraction.outcome import Runner
from aahcrawler.page import Page
from aahcrawler.webobject import WebObject
from knowledge_base.model import Application, KnowledgeBase
from knowledge_base.url_rules import ParsedUrl

READ = ("title", "author", "date", "body")
MOST_TOLD = 3
_SHOWN = 60


def taken_for(page: Page, knowledge_base: KnowledgeBase) -> tuple[str, str, str]:
    """Return the application, level and variant that a page is recognised as, empty where there is none."""
    match = ApplicationAwareHelper(knowledge_base).assist(page).match
    if match is None:
        return "", "", ""
    return match.application.name, match.level.name if match.level is not None else "", match.variant


def misreadings(
    page: Page, knowledge_base: KnowledgeBase, learned: Learned, variant: str | None = None, *, fully: bool = False
) -> Iterator[str]:
    """Say, a line each, how a page of the evidence is read differently than the learned item reads it.

    With ``variant``, that must read it. Of learned links one must be followed, with ``fully`` all of them.
    """
    application = knowledge_base.application(learned.application)
    found = ApplicationAwareHelper(knowledge_base).assist(page)
    match = found.match
    if match is None or match.application.name != learned.application:
        yield (
            f"{page.url} would not be recognised as a page of {learned.application}: one hint is not enough. Accept a "
            "second sign that was learned, or mark one in the file as strong"
        )
        return
    level = match.level.name if match.level is not None else ""
    if learned.level and level != learned.level:
        yield f"{page.url} would be taken for {f'level {level}' if level else 'no level'}, not for {learned.level}"
    elif variant is not None and match.variant != variant:
        by = f"the variant {match.variant}" if match.variant else "the level itself"
        yield f"{page.url} would still be read by {by}, whose signs it shows as well"
    elif isinstance(learned, LearnedAction):
        yield from _misread(page, application, learned, found)
    elif isinstance(learned, LearnedLinks):
        yield from _unfollowed(page, application, learned, found, fully=fully)


def concerned(learned: Learned, saved: Iterable[SavedPage]) -> tuple[SavedPage, ...]:
    """Return the saved pages that a learned item could change: of its application, for a sign of that all there are."""
    everywhere = isinstance(learned, LearnedSign) and not learned.level
    return tuple(page for page in saved if everywhere or page.expected.application == learned.application)


def lost_pages(after: KnowledgeBase, before: KnowledgeBase, saved: Iterable[SavedPage]) -> Iterator[str]:
    """Say, a line each, which saved pages would be read differently than expected that are not so ``before``."""
    trial, earlier = Trial(after), Trial(before)
    for page in saved:
        told = trial.misreadings(page)
        if told and not earlier.misreadings(page):
            yield (
                f"the saved page {page.name}, of another template, would be read differently than expected: {told[0]}"
            )


def _misread(page: Page, application: Application, learned: LearnedAction, found: Assistance) -> Iterator[str]:
    """Say which objects would not be read as the learned action reads them."""
    wanted = objects_of(page, application, learned)
    if not wanted:
        types = dict.fromkeys(
            (learned.wrapper.action.first_type or learned.wrapper.action.type, learned.wrapper.action.type)
        )
        yield f"what was learned finds nothing of type {' or '.join(types)} on {page.url}"
    there = {each.iri: each for each in found.objects}
    differing = (line for each in wanted for line in _differing(each, there.get(each.iri)))
    yield from (line for line, _ in zip(differing, range(MOST_TOLD), strict=False))


def objects_of(page: Page, application: Application, learned: LearnedAction) -> Sequence[WebObject]:
    """Return what the learned action finds on a page."""
    runner = Runner.of(page, application, application.level(learned.level))
    return [each.object for each in runner.run(learned.wrapper.action).extracted]


def _differing(wanted: WebObject, found: WebObject | None) -> Iterator[str]:
    if found is None:
        yield f"{wanted.iri} would not be found"
        return
    for name in READ:
        if wanted.first(name) != found.first(name):
            shown = (_shown(as_text(each.first(name))) for each in (found, wanted))
            yield "{}: {} would be {} and not {}, as the crawl read it".format(wanted.iri, name, *shown)


def _shown(value: str | None) -> str:
    line = " ".join((value or "").split())
    return f'"{line[:_SHOWN]}{"..." if len(line) > _SHOWN else ""}"' if line else "nothing"


def _unfollowed(
    page: Page, application: Application, learned: LearnedLinks, found: Assistance, *, fully: bool
) -> Iterator[str]:
    """Say if links that the learned action finds would not be followed."""
    followed = {link.url for link in found.document.outlinks}
    (source,) = learned.navigate().sources
    hrefs = (element.get("href") for element in source.selector.elements(page.tree))
    resolved = {url for href in hrefs if href and (url := urls.resolve(page.base_url, href)) is not None}
    addresses = {application.canonical(ParsedUrl.parse(url)) for url in resolved}
    here = application.canonical(ParsedUrl.parse(page.url)).url
    wanted = {
        address.url
        for address in addresses
        if application.refusal(address) is None
        and address.url != here
        and (not source.documented or application.level_of(address) is application.level(learned.to))
    }
    if not wanted or not wanted & followed or (fully and not wanted <= followed):
        yield f"no link to level {learned.to} would be followed from {page.url}"
