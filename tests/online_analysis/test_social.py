from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from online_analysis.aggregation import Scores
from online_analysis.analysers import ScoredSeed, SocialAnalyser, seeds_of_posts
from online_analysis.analysers.social import links_in
from online_analysis.document import Document
from online_analysis.icd import Event, Icd, Post
from tests.online_analysis.definitions import SMALLEST
from tests.online_analysis.documents import page, posts

THERE = "https://example.org/there"
ELSEWHERE = "https://example.org/elsewhere"
MAY = Event(start=datetime(2024, 5, 1, tzinfo=UTC), end=datetime(2024, 5, 31, tzinfo=UTC))


def seeds(written: Sequence[Post], folder: Path, *lines: str) -> tuple[ScoredSeed, ...]:
    import json

    rows = (
        {
            "author": post.author,
            "text": post.text,
            "followers": post.followers,
            "date": post.date and post.date.isoformat(),
        }
        for post in written
    )
    (folder / "posts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    text = SMALLEST.replace("keywords: [solar power]", "keywords: [solar power], posts: posts.jsonl")
    return seeds_of_posts(Icd.parse((text + "\n".join(lines)).encode(), folder / "solar.yaml"))


def test_links_of_posts_are_seeds_and_more_authors_give_a_higher_score(tmp_path: Path) -> None:
    found = seeds(
        [
            Post("ann", f"see {THERE}#top, and {ELSEWHERE}."),
            Post("bob", f"({THERE})"),
            Post("bob", f"again {THERE} {THERE}"),
            Post("cem", "nothing here"),
        ],
        tmp_path,
    )
    assert found == (ScoredSeed(THERE, 0.5), ScoredSeed(ELSEWHERE, 1 / 3))


def test_authors_who_are_read_by_many_count_for_more(tmp_path: Path) -> None:
    alone, star = "https://a.test/", "https://b.test/"
    found = seeds([Post("ann", alone), Post("bob", star, followers=9_999), Post("bob", "older", followers=3)], tmp_path)
    assert [seed.url for seed in found] == [star, alone]
    assert found[0].score == pytest.approx(5 / 7)


def test_a_post_counts_as_much_as_it_is_near_to_the_event(tmp_path: Path) -> None:
    written = [
        Post("ann", "https://a.test/", datetime(2024, 5, 3, tzinfo=UTC)),
        Post("ann", "https://b.test/", datetime(2024, 6, 10, tzinfo=UTC)),
        Post("ann", "https://c.test/"),
        Post("ann", "https://d.test/", datetime(2023, 5, 3, tzinfo=UTC)),
    ]
    found = {
        seed.url: seed.score
        for seed in seeds(written, tmp_path, "event: {start: 2024-05-01, end: 2024-05-31, cool_down: 9 days}")
    }
    assert list(found) == ["https://a.test/", "https://c.test/", "https://b.test/"]
    assert found["https://a.test/"] == found["https://c.test/"] == pytest.approx(1 / 3)
    assert found["https://b.test/"] == pytest.approx(0.2, abs=0.01)
    assert len(seeds(written, tmp_path)) == 4


def test_a_definition_without_posts_has_no_such_seeds() -> None:
    assert seeds_of_posts(Icd.parse(SMALLEST.encode())) == ()


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("see https://a.test/x.", ["https://a.test/x"]),
        ("<https://a.test/x>, 'https://a.test/y'!", ["https://a.test/x", "https://a.test/y"]),
        ("(https://a.test/b_(c)) [https://a.test/d]", ["https://a.test/b_(c)", "https://a.test/d"]),
        ('<a href="https://a.test/?a=1&amp;b=2">there</a>', ["https://a.test/?a=1&b=2"]),
        ("https://a.test/cut… https://a.test/off...", []),
        ("看https://a.test/太阳。好", ["https://a.test/%E5%A4%AA%E9%98%B3"]),
        ("HTTPS://A.test/X#part", ["https://a.test/X"]),
        ("ftp://a.test/ http:// https://u:p@a.test/ https://[::1 mailto:a@b.test", []),
        ("**https://a.test/bold**", ["https://a.test/bold"]),
        ("https://a.test/" + "x" * 3000, []),
    ],
)
def test_addresses_are_found_in_what_people_write(text: str, links: list[str]) -> None:
    assert list(links_in(text)) == links


@given(st.text(max_size=80))
def test_no_text_raises(text: str) -> None:
    for url in links_in(f"{text}https://{text} http://a.test/{text}"):
        assert url.startswith(("http://", "https://"))


def score_after(*documents: Document) -> float | None:
    """Return the score of THERE on the last of some documents."""
    analyser = SocialAnalyser()
    answers = [analyser.analyse(document) for document in documents]
    urls = [link.url for link in documents[-1].outlinks]
    return dict(zip(urls, answers[-1].links, strict=True))[THERE]


def test_distinct_authors_of_posts_are_counted() -> None:
    one = score_after(posts(("ann", [THERE])))
    same = score_after(posts(("ann", [THERE]), url="https://forum.example.org/t/2"), posts(("ann", [THERE])))
    two = score_after(posts(("ann", [THERE])), posts(("bob", [THERE])))
    three = score_after(posts(("ann", [THERE])), posts(("bob", [THERE])), posts(("cem", [THERE, ELSEWHERE])))
    assert one is None
    assert same is None
    assert two == 0.5
    assert three == 0.6


def test_equal_names_of_two_sites_are_two_authors() -> None:
    assert score_after(posts(("ann", [THERE]), url="https://other.test/t"), posts(("ann", [THERE]))) == 0.5


def test_an_author_who_was_met_on_many_pages_counts_for_more() -> None:
    pages = [posts(("ann", [ELSEWHERE]), url=f"https://forum.example.org/t/{number}") for number in range(20)]
    many = score_after(*pages, posts(("ann", [THERE])), posts(("bob", [THERE])))
    assert many is not None
    assert many > 0.55


def test_links_outside_of_posts_and_of_nobody_say_nothing() -> None:
    document = page("text", links=posts(("ann", [THERE])).outlinks)
    assert SocialAnalyser().analyse(document) == Scores("social")
    assert SocialAnalyser([Post("ann", ELSEWHERE)]).analyse(document).links == (None,)
    loose = posts(("ann", []), ("bob", []))
    assert SocialAnalyser().analyse(loose).links == ()


def test_posts_of_the_definition_are_remembered_while_crawling() -> None:
    analyser = SocialAnalyser(
        [Post("ann", THERE, followers=99), Post("bob", ELSEWHERE, datetime(2020, 1, 1, tzinfo=UTC))], MAY
    )
    scores = analyser.analyse(posts(("cem", [THERE, ELSEWHERE, "https://c.test/"])))
    assert scores.links == (4 / 6, None, None)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("online_analysis.analysers.social._MAX_URLS", 10)
    monkeypatch.setattr("online_analysis.analysers.social._MAX_AUTHORS", 5)
    analyser = SocialAnalyser()
    for number in range(100):
        analyser.analyse(posts((f"author {number}", [f"https://a.test/{number}"]), (f"other {number}", [THERE])))
    assert len(analyser._authors_of) == 10
    assert len(analyser._pages_of) == 5
    assert max(map(len, analyser._authors_of.values())) == 32


names = st.sampled_from(["ann", "bob", "cem", "", "δ"])
addresses = st.sampled_from([THERE, ELSEWHERE, "https://a.test/", "https://b.test/"])
documents = st.builds(
    lambda written, number: posts(*written, url=f"https://forum.example.org/t/{number}"),
    st.lists(st.tuples(names, st.lists(addresses, max_size=3)), max_size=4),
    st.integers(0, 3),
)


@given(st.lists(documents, max_size=12))
def test_scores_are_bounded_and_follow_from_what_was_seen(seen: list[Document]) -> None:
    one, other = SocialAnalyser(), SocialAnalyser()
    for document in seen:
        scores = one.analyse(document)
        assert other.analyse(document) == scores
        assert one.analyse(document) == other.analyse(document) == scores
        assert len(scores.links) in (0, len(document.outlinks))
        assert all(score is None or 0 < score < 1 for score in scores.links)
