"""What an entry matches on a page is found once for all clicks on it."""

import pytest

from aahcrawler.editor.rules.part_matches import PageMatches, matches
from aahcrawler.editor.text.entry_text import EntryText
from aahcrawler.service.cockpit.studio.studio_desk import MAX_PAGES, MatchCache
from knowledge_base.file_selection import SHIPPED
from tests.shipped import shipped
from tests.studio.ropes import sample_of

TEXT = EntryText((SHIPPED / "applications" / "phpbb.xml").read_bytes())


@pytest.mark.slow
def test_matches_are_found_once_for_a_page_and_a_text() -> None:
    sample, shelf = sample_of(), MatchCache()
    phpbb = next(each for each in shipped().applications if each.name == "phpBB")

    def of(number: int, text: str = "first") -> PageMatches:
        page = sample.sampled(sample.pages[number])
        assert page is not None
        return shelf.of(page, text, lambda: matches(phpbb, TEXT, page.page))

    first = of(0)
    assert first.url == sample.pages[0].url
    assert of(0) is first
    assert of(0, "second") is not first
    for number in range(1, MAX_PAGES):
        of(number)
    again = of(0)
    assert again is not first
    sample.close()  # The page is parsed anew from now on, so that the elements are others.
    assert of(0) is not again
