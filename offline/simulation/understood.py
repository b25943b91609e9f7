"""What is kept of a page that was read once for all simulated crawls."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from lxml.html import HtmlElement

from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.metadata import Metadata
from aahcrawler.page import Headers, Page
from aahcrawler.page.generic import main_content
from aahcrawler.urls import resolve
from knowledge_base.model import KnowledgeBase, Match
from online_analysis.document import Document
from online_analysis.terms import Lexicon

Terms = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Understood:
    """A page as the helper understood it, free of any topic.

    ``application`` and ``level`` are names, empty where there is none. ``terms`` counts the stems of all of the
    document's text. ``tag_paths``, ``anchors`` and ``contexts`` run parallel to the document's outlinks: where the
    link stands in the page, and the stems of its anchor and of the text around it. ``text`` is the main content of a
    page that is a seed of some sample, and empty for others.
    """

    document: Document
    application: str
    level: str
    terms: Mapping[str, int]
    tag_paths: tuple[str, ...]
    anchors: tuple[Terms, ...]
    contexts: tuple[Terms, ...]
    text: str


def understand(page: Page, helper: ApplicationAwareHelper, lexicon: Lexicon, *, is_seed: bool) -> Understood:
    """Read a page as every crawl does, and keep what strategies of all kinds look at."""
    assistance = helper.assist(page)
    document, match = assistance.document, assistance.match
    language = lexicon.language(document.language)
    terms = Counter(language.terms(document.title))
    for part in document.parts:
        terms.update(language.terms(part.text))
    paths = tag_paths(page)
    return Understood(
        document=document,
        application=match.application.name if match else "",
        level=match.level.name if match and match.level else "",
        terms=dict(terms),
        tag_paths=tuple(paths.get(link.url, "") for link in document.outlinks),
        anchors=tuple(tuple(language.terms(link.anchor)) for link in document.outlinks),
        contexts=tuple(tuple(language.terms(link.context)) for link in document.outlinks),
        text=main_content(page) if is_seed else "",
    )


def tag_paths(page: Page) -> Mapping[str, str]:
    """Return where each address that a page links to is linked from first: tags with their first class, from the root.

    Digits are left out, so that elements which differ in a number are one: ``html/body/div.post/p/a``.
    """
    found: dict[str, str] = {}
    known: dict[HtmlElement, str] = {}
    for element in page.tree.iter("a", "area"):
        url = resolve(page.base_url, element.get("href", "")) if element.get("href") else None
        if url is not None and url not in found:
            found[url] = _path(element, known)
    return found


def _path(element: HtmlElement, known: dict[HtmlElement, str]) -> str:
    missing: list[HtmlElement] = []
    step: HtmlElement | None = element
    while step is not None and step not in known:
        missing.append(step)
        step = step.getparent()
    path = known[step] if step is not None else ""
    for each in reversed(missing):
        path = known[each] = f"{path}/{_step(each)}" if path else _step(each)
    return path


def _step(element: HtmlElement) -> str:
    tag = str(element.tag)
    name = (element.get("class") or element.get("id") or "").split(maxsplit=1)
    return f"{tag}.{name[0]}".translate(_NO_DIGITS) if name else tag


_NO_DIGITS = str.maketrans("", "", "0123456789")


class RecallingHelper(ApplicationAwareHelper):
    """A helper that has assisted every page before, so that ``flow.process`` need not read one again."""

    def __init__(self, knowledge_base: KnowledgeBase) -> None:
        super().__init__(knowledge_base)
        self._matches = {
            (application.name, level.name if level else ""): Match(application, level)
            for application in knowledge_base.applications
            for level in (None, *application.levels)
        }
        self._recalled: Assistance | None = None

    def recall(self, understood: Understood) -> Page:
        """Take a page for the next one to assist, and return what stands for it; it has an address and no content."""
        match = self._matches.get((understood.application, understood.level))
        self._recalled = Assistance(match, understood.document)
        return Page(understood.document.url, 200, Headers(), b"", datetime.fromtimestamp(0, UTC))

    def assist(self, page: Page, former: Metadata | None = None) -> Assistance:
        """Say of the page that was recalled last what was said of it before. Of others, KeyError."""
        del former
        if self._recalled is None or self._recalled.document.url != page.url:
            raise KeyError(page.url)
        return self._recalled


def summed(vectors: Sequence[Mapping[str, int]]) -> Counter[str]:
    """Return the sum of term vectors."""
    total: Counter[str] = Counter()
    for vector in vectors:
        total.update(vector)
    return total
