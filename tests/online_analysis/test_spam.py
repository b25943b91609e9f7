from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from online_analysis.aggregation import Scores
from online_analysis.analysers import SpamAnalyser
from online_analysis.analysers.spam import is_stuffed
from online_analysis.document import Document, DocumentPart, Outlink
from tests.online_analysis.documents import page

KEYWORDS = ("cheap", "watches", "online", "buy", "luxury")
STUFFED = [" ".join(words) for words in permutations(KEYWORDS, 3)]
TITLES = (
    "How we built our first kiln", "A year with a wood stove", "Glazes from local clay", "Notes on raku firing",
    "Porcelain for beginners", "Throwing large bowls", "My studio in an old barn", "Why handles crack",
    "Collecting ash for slips", "Twelve potters of the Westerwald", "Salt and soda compared", "Repairing a wheel",
)  # fmt: skip


def listing(anchors: list[str], text: str = "", url: str = "http://list.test/") -> Document:
    """Return a page that links to a host of its own with each anchor, and holds nothing but that and some text."""
    links = [
        Outlink(f"http://host{number}.test/", anchor, context=anchor, part=0) for number, anchor in enumerate(anchors)
    ]
    return Document(url, "en", "", (DocumentPart("content", " | ".join([*anchors, text])),), tuple(links))


FARM = listing(STUFFED)


def test_listed_hosts_take_everything_below_them_along() -> None:
    urls = ("http://bad.test/", "http://www.bad.test/x", "http://notbad.test/", "http://b/")
    links = [Outlink(url, "") for url in urls]
    assert SpamAnalyser(["bad.test"]).analyse(page("", links=links)) == Scores("spam", None, (0.0, 0.0, None, None))


def test_a_page_of_foreign_links_that_repeat_a_few_keywords_is_a_link_farm() -> None:
    own = (Outlink("http://list.test/2", "next page"), Outlink("http://www.list.test/3", "3"))
    scores = SpamAnalyser([]).analyse(replace(FARM, outlinks=(*FARM.outlinks, *own)))
    assert scores == Scores("spam", 0.0, (*(0.0 for _ in STUFFED), None, None))


@pytest.mark.parametrize(
    "document",
    [
        listing([f"{title} ({number})" for number in range(4) for title in TITLES]),
        listing(STUFFED, "Each of these shops was tested by our readers, and this is what they had to say. " * 8),
        listing(STUFFED[:25]),
        listing(["Visit this website"] * 60),
        listing(["Website"] * 60),
        listing([""] * 60),
        listing([f"{name} blog" for name in ("Anna", "Bert", "Cem", "Dora")] * 15),
        listing([f"The potters of region {number} and their wheels" for number in range(60)]),
        page("A post of some length.", links=[Outlink(f"http://list.test/{n}", STUFFED[n]) for n in range(60)]),
        page(""),
    ],
    ids=["titles", "described", "few", "one phrase", "one word", "images", "blogroll", "numbered", "own site", "empty"],
)
def test_honest_lists_are_none(document: Document) -> None:
    scores = SpamAnalyser([]).analyse(document)
    assert (scores.document, {*scores.links} - {None}) == (None, set())


@pytest.mark.parametrize(
    ("anchor", "stuffed"),
    [
        ("casino casino best casino online casino", True),
        ("Watches, cheap watches; watches buy WATCHES", True),
        ("how much wood would a woodchuck chuck", False),
        ("the one of the best of the few of the", False),
        ("very, very, very good", False),
        ("", False),
    ],
)
def test_one_keyword_over_and_over_is_a_stuffed_anchor(anchor: str, stuffed: bool) -> None:
    assert is_stuffed(anchor) is stuffed
    links = [Outlink("http://other.test/", anchor), Outlink("https://forum.example.org/t/2", anchor)]
    assert SpamAnalyser([]).analyse(page("text", links=links)).links == (0.0 if stuffed else None, None)


def hiding(number: int, *hosts: str, openly: tuple[str, ...] = ()) -> Document:
    """Return a page that hides links to some hosts and has open ones to others."""
    links = (
        *(Outlink(f"http://{host}/", "pills", hidden=True) for host in hosts),
        *(Outlink(f"http://{host}/", "there") for host in openly),
    )
    return page("Some text.", url=f"http://hacked.test/{number}", links=links)


BAD = tuple(f"bad{number}.test" for number in range(6))


def test_hosts_that_are_linked_to_with_hidden_links_alone_are_spam() -> None:
    analyser = SpamAnalyser([])
    first, second, third = (analyser.analyse(hiding(number, *BAD, openly=("good.test",))).links for number in range(3))
    assert first == second == (None,) * 7
    assert third == (*(0.0 for _ in BAD), None)
    assert analyser.analyse(page("text", links=[Outlink("http://bad1.test/", "pills")])).links == (None,)
    after = analyser.analyse(hiding(4, *BAD)).links
    assert after == (0.0, None, 0.0, 0.0, 0.0, 0.0), "one of them was linked to openly meanwhile"


@pytest.mark.parametrize(
    "documents",
    [
        [hiding(1, *BAD)] * 9,
        [hiding(number, *BAD[:4]) for number in range(9)],
        [page("text", links=[Outlink(f"http://{host}/", "") for host in BAD]), *(hiding(n, *BAD) for n in range(9))],
        [hiding(number, *(f"hacked.test/{host}" for host in BAD)) for number in range(9)],
    ],
    ids=["one page", "few hosts", "open before", "own links"],
)
def test_a_hidden_link_alone_is_no_spam(documents: list[Document]) -> None:
    analyser = SpamAnalyser([])
    assert {score for document in documents for score in analyser.analyse(document).links} == {None}


def test_hidden_hosts_are_remembered_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("online_analysis.analysers.spam._MAX_HOSTS", 10)
    analyser = SpamAnalyser([])
    for number in range(50):
        analyser.analyse(hiding(number, f"bad{number}.test", openly=(f"good{number}.test",)))
    assert len(analyser._hidden._seen) == 10


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=12)), max_size=40))
def test_nothing_but_zero_is_ever_said(links: list[tuple[str, str]]) -> None:
    outlinks = [Outlink(f"http://{host}/", anchor) for anchor, host in links if "[" not in host and "]" not in host]
    scores = SpamAnalyser(["a.test"]).analyse(page("text", links=outlinks))
    assert set(scores.links) <= {0.0, None}
    assert len(scores.links) == len(outlinks)
