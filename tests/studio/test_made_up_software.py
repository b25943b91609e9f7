"""The made-up software is what it says: all pages that it leads to are there, and show what it is said to hold."""

from collections import deque
from collections.abc import Mapping
from urllib.parse import urljoin, urlsplit

import pytest
from lxml import html

from aahcrawler.helper import ApplicationAwareHelper
from benchmarks.software.scorer import Described, Matching, TrueObjects
from benchmarks.truth import words
from tests.crawl.site import Reply
from tests.helper.saved_pages import html_page
from tests.shipped import shipped
from tests.studio.made_up.hearthstead import SLATE, Hearthstead
from tests.studio.made_up.inkwell import Inkwell
from tests.studio.made_up.lumen import Lumen
from tests.studio.made_up.published import Software
from tests.studio.made_up.scored_crawl import Score

ALL = (Hearthstead(), Hearthstead(theme=SLATE), Inkwell(), Lumen())


def walked(software: Software) -> Mapping[str, Reply]:
    """Return all that links of a site lead to, by its path."""
    base, found = f"http://{software.host}", dict[str, Reply]()
    open_ = deque(["/"])
    while open_:
        path = open_.popleft()
        if path not in found:
            found[path] = software.answer(path)
            targets = (urlsplit(urljoin(base + path, target)) for target in _targets(found[path]))
            open_ += (f"{to.path}?{to.query}".rstrip("?") for to in targets if to.netloc == software.host)
    return found


def _targets(reply: Reply) -> list[str]:
    if "Location" in reply.headers:
        return [reply.headers["Location"]]
    if "html" not in reply.headers["Content-Type"]:
        return []
    return [str(target) for target in html.fromstring(reply.body).xpath("//@href | //@src")]


@pytest.mark.slow
@pytest.mark.parametrize("software", ALL, ids=["hearthstead", "hearthstead in slate", "inkwell", "lumen"])
def test_every_link_leads_somewhere_and_every_page_shows_what_it_holds(software: Software) -> None:
    found = walked(software)
    assert {reply.status for reply in found.values()} == {200, 302}
    shown = dict[str, set[str]]()
    for each in software.holds():
        assert found.keys() >= set(each.pages)
        for path in each.pages:
            if path not in shown:
                shown[path] = set(words(html.fromstring(found[path].body).text_content()))
            assert set(words(each.body)) <= shown[path], path


@pytest.mark.slow
@pytest.mark.parametrize("software", ALL, ids=["hearthstead", "hearthstead in slate", "inkwell", "lumen"])
def test_no_file_of_the_knowledge_base_knows_it(software: Software) -> None:
    helper = ApplicationAwareHelper(shipped())
    for path in ("/", *(each.pages[0] for each in software.holds()[:5])):
        page = html_page(f"http://{software.host}{path}", software.answer(path).body)
        match = helper.assist(page).match
        assert match is None or match.application is None


def test_the_same_seed_holds_the_same_and_a_theme_changes_nothing_of_it() -> None:
    assert Hearthstead().holds() == Hearthstead(theme=SLATE).holds() != Hearthstead(seed=5).holds()


def test_a_score_tells_what_is_missing_wrong_and_there_again() -> None:
    true = [each.described() for each in Inkwell().holds()]
    whole = Score(Matching.of(TrueObjects(true), true), 2 * len({each.url for each in true}))
    assert whole.is_whole
    assert whole.shares["requests_per_needed_page"] == 2.0
    strange = Described("x", "/x", "Nobody has ever written this sentence about whales")
    partly = Score(Matching.of(TrueObjects(true), [*true[1:], true[2], strange]), 1)
    assert not partly.is_whole
    assert [line.partition(":")[0] for line in partly.mistakes().splitlines()[1:]] == ["missing", "wrong", "again"]
