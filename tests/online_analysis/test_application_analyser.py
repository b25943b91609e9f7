from dataclasses import replace

from online_analysis.aggregation import Scores
from online_analysis.analysers import ApplicationAnalyser
from online_analysis.document import Document, Outlink

LINKS = (
    Outlink("https://forum.example.org/t/1", "A thread", action="threads", leads_to="terminal"),
    Outlink("https://forum.example.org/f/2", "A forum", action="forums", leads_to="intermediate"),
    Outlink("https://example.org/", "there"),
    Outlink("https://forum.example.org/t/3", "By its address", action="threads-by-address"),
)
FORUM = Document("https://forum.example.org/f/1", "en", "", (), LINKS, None, "phpbb", "forum", "forum")


def test_links_to_content_score_higher_than_links_to_lists() -> None:
    scores = ApplicationAnalyser().analyse(FORUM)
    content, lists, *others = scores.links
    assert content is not None
    assert lists is not None
    assert 1 >= content > lists > 0
    assert others == [None, None]
    assert scores.document is None


def test_nothing_is_said_of_unknown_applications_and_levels() -> None:
    for unknown in (replace(FORUM, application=""), replace(FORUM, level="")):
        assert ApplicationAnalyser().analyse(unknown) == Scores("application")
