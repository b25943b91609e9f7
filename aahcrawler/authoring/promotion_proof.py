"""Puts a changed knowledge base to the proof before it is written: on the pages of the evidence and on saved ones."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from aahcrawler import urls
from aahcrawler.adaptation.store.learned import LearnedAction, LearnedLinks, LearnedSign
from aahcrawler.authoring.insertion import Insertion, PromotionError
from aahcrawler.authoring.trial import Trial, all_pages
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.helper.extraction.outcome import Runner
from aahcrawler.page import Page
from aahcrawler.webobject import WebObject
from knowledge_base.model import Application, KnowledgeBase
from knowledge_base.url_rules import ParsedUrl

READ = ("title", "author", "date", "body")
MOST_TOLD = 3


def taken_for(page: Page, knowledge_base: KnowledgeBase) -> tuple[str, str]:
    """Return the recognised application and level of a page, empty if there is none."""
    match = ApplicationAwareHelper(knowledge_base).assist(page).match
    level = match.level.name if match is not None and match.level is not None else ""
    return (match.application.name if match is not None else "", level)


def prove(
    after: KnowledgeBase, before: KnowledgeBase, insertion: Insertion, pages: Sequence[Page], folders: Sequence[Path]
) -> None:
    """Read all pages of the evidence with a knowledge base as it would be, and the saved pages of the application.

    Raises `PromotionError` if a page of the evidence is read differently from the learned action, or a saved one
    differently from its expectation although it is not so ``before``. The test of the very variant that gets an
    additional action does not count: it is saved again.
    """
    for page in pages:
        for wrong in _wrong(page, after, insertion):
            raise PromotionError(f"{wrong}; aah kb explain says why. Nothing was changed")
    own = [
        saved
        for saved in all_pages(folders)
        if saved.expected.application == insertion.learned.application and saved.file.stem != insertion.test
    ]
    trial, earlier = Trial(after), Trial(before)
    for saved in own:
        told = trial.misreadings(saved)
        if told and not earlier.misreadings(saved):
            raise PromotionError(
                f"with this the saved page {saved.name} would be read otherwise than expected ({told[0]}); its signs "
                "fit pages of another template as well. Nothing was changed"
            )


def _wrong(page: Page, after: KnowledgeBase, insertion: Insertion) -> Iterator[str]:
    """Yield the errors in reading a page of the evidence."""
    learned = insertion.learned
    application = after.application(learned.application)
    found = ApplicationAwareHelper(after).assist(page)
    match = found.match
    if match is None or match.application.name != learned.application:
        yield f"with this {page.url} is not recognised as a page of {learned.application}: one hint is not enough"
        return
    if learned.level and (match.level is None or match.level.name != learned.level):
        shown = match.level.name if match.level is not None else "none"
        yield f"with this {page.url} is recognised as a page of level {shown}, not {learned.level}"
        return
    if insertion.variant and match.variant != insertion.variant:
        shown = f"the variant {match.variant}" if match.variant else "the level itself"
        yield (
            f"{page.url} is read by {shown} and not by this one; write the action there by hand, or choose that name "
            "with --as"
        )
        return
    match learned:
        case LearnedAction():
            yield from _misread(page, application, learned, found)
        case LearnedLinks():
            yield from _unfollowed(page, application, learned, found)
        case LearnedSign():
            return


def _misread(page: Page, application: Application, learned: LearnedAction, found: Assistance) -> Iterator[str]:
    """Say which objects would not be read as the learned action reads them."""
    extracted = Runner.of(page, application, application.level(learned.level)).run(learned.wrapper.action).extracted
    if not extracted:
        types = dict.fromkeys(
            (learned.wrapper.action.first_type or learned.wrapper.action.type, learned.wrapper.action.type)
        )
        yield f"with this nothing of type {' or '.join(types)} is found on {page.url}"
    there = {each.iri: _told(each) for each in found.objects}
    for each in extracted[:MOST_TOLD]:
        if there.get(each.object.iri) != _told(each.object):
            yield f"with this {each.object.iri} is not read as the crawl did"


def _told(web_object: WebObject) -> Mapping[str, object]:
    return {name: web_object.first(name) for name in READ}


def _unfollowed(page: Page, application: Application, learned: LearnedLinks, found: Assistance) -> Iterator[str]:
    """Return whether links that the learned action finds would not be followed."""
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
    if not wanted or not wanted & followed:
        yield f"with this no link to level {learned.to} is followed from {page.url}"
