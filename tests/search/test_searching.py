"""Questions find what they ask for, in whatever language and spelling, and ranks of several folders are one."""

from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.search import QueryError, Question, SearchedFolder, news, search
from aahcrawler.search.query_language import parse
from aahcrawler.search.saved_searches import SavedSearch
from aahcrawler.search.searching import Span, time_bounds
from aahcrawler.search.snippets import Marker, words_in
from offline.search_output import tell
from tests.pace import at_most
from tests.search.archives import caught_up, found, names, post, running

GERMAN = "Die Häuser an den Deichen sind nach der Sturmflut wieder aufgebaut worden, sagten die Bewohner."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("floods")
    with running(folder) as crawl:
        crawl.page(
            "english",
            "nothing else",
            [
                post("water", "High water reached the dyke at noon.", "Zoë Brandt", datetime(2013, 6, 3, tzinfo=UTC)),
                post("walking", "They were walking along the levees all night.", date=datetime(2014, 1, 1, tzinfo=UTC)),
                post("title", "No word of it here.", title="Dyke wardens"),
                post("water2", "The water is high.", "Jo Smith"),
            ],
        )
        crawl.page("german", "nichts", [post("german", GERMAN)])
        crawl.page("japanese", "", [post("japanese", "昨日の洪水で東京都の堤防が決壊した。", "李雷")])
        crawl.page("thai", "", [post("thai", "น้ำท่วมกรุงเทพมหานคร")])
    caught_up(folder)
    return folder


def test_what_has_no_date_comes_last_in_the_order_of_dates_and_has_no_score(folder: Path) -> None:
    for order, first in (("oldest", "water"), ("newest", "walking")):
        hits = found(folder, "kind:object", order=order).hits
        assert [bool(hit.score) for hit in hits] == [True, True, *([False] * (len(hits) - 2))]
        assert hits[0].entry.thing.endswith(first)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("water", {"water", "water2"}),
        ('"high water"', {"water"}),
        ('"water high"~1', {"water2"}),
        ("water -dyke", {"water2"}),
        ("water NOT noon", {"water2"}),
        ("noon OR night", {"water", "walking"}),
        ("(noon OR night) levees", {"walking"}),
        ("walked levee", {"walking"}),
        ("wallking", {"walking"}),
        ("watre~ noon", {"water"}),
        ("lev*", {"walking"}),
        ("author:zoe", {"water"}),
        ('author:"jo smith"', {"water2"}),
        ("author:smiht", {"water2"}),
        ("title:dyke", {"title"}),
        ("published:2013", {"water"}),
        ("published:2013-06..2014", {"water", "walking"}),
        ("published:>2013", {"walking"}),
        ("type:post site:forum.test noon", {"water"}),
        ("type:po* noon", {"water"}),
        ("haus deich", {"german"}),
        ("HAUSER", {"german"}),
        ("language:de", {"german"}),
        ("東京", {"japanese"}),
        ("洪水 堤防", {"japanese"}),
        ("東堤", set()),
        ("堤", {"japanese"}),
        ("author:李", {"japanese"}),
        ("กรุงเทพ", {"thai"}),
        ("score:0.4..0.6 noon", {"water"}),
        ("score:>0.6", set()),
        ("status:404", set()),
        ("https://forum.test/none", set()),
    ],
)
def test_queries(folder: Path, query: str, expected: set[str]) -> None:
    assert set(names(found(folder, query, filters={"kind": ["object"]}, is_folded=False))) == expected


@pytest.mark.parametrize(
    ("query", "place", "says"),
    [
        ('dyke "high water', 5, "quotation mark"),
        ("(dyke", 0, "not closed"),
        ("dyke)", 4, "not opened"),
        ("dyke AND", 8, "missing"),
        ("OR dyke", 0, "missing"),
        ("colour:red", 0, "no field"),
        ("published:yesterday", 10, "no date"),
        ("published:2014..2013", 10, "not before"),
        ("score:high", 6, "no number"),
        ("status:99999999999999999999999", 7, "out of range"),
        ("[a TO b]", 1, "a range is of"),
        ("(" * 40 + "a", 20, "deep"),
        ("a " * 70, 128, "more than 64"),
        ('"high water"~x', 12, "a number from 0 to 9"),
        ("dyke~5", 0, "with 1 or 2"),
        ("dyke title: flood", 11, "no blank"),
        ("!!! 🌊", 0, "write a word"),
        ("--", 0, "write a word"),
    ],
)
def test_a_query_that_cannot_be_read_is_told_of_with_its_place(query: str, place: int, says: str) -> None:
    with pytest.raises(QueryError, match=says) as raised:
        parse(query)
    assert raised.value.place == place


@given(st.text(alphabet='ab (")-:~*[]T.O<>=1é東', max_size=40))
def test_any_query_is_answered_or_told_of(folder: Path, query: str) -> None:
    place = 0
    try:
        search([SearchedFolder(folder).opened()], Question(query, limit=2))
    except QueryError as error:
        place = error.place
    assert 0 <= place <= len(query)


def test_results_show_the_words_in_their_place_and_counts_of_their_values(folder: Path) -> None:
    result = found(folder, "levee walked", timed="published")
    (hit,) = result.hits
    assert [piece.text for piece in hit.snippet if piece.is_marked] == ["walking", "levees"]
    assert "".join(piece.text for piece in hit.snippet) == hit.entry.text
    assert result.facets["type"] == {"post": 1}
    assert result.facets["application"] == {"phpBB": 1}
    assert result.timeline == (Span(1388534400, 1388620800, 1),)


def test_what_nobody_wrote_is_looked_for_as_misspelt_and_this_is_told(folder: Path) -> None:
    result = found(folder, "leveees")
    assert result.unknown == ("leveees",)
    assert found(folder, "walked author:leveees").unknown == ("author:leveees",)
    assert names(result) == ["walking"]
    assert found(folder, "walking levees zzzzzzzz").loosened == "words"


def test_filters_are_of_any_of_their_values(folder: Path) -> None:
    assert set(names(found(folder, filters={"author": ["Zoë Brandt", "Jo Smith"]}))) == {"water", "water2"}
    assert set(names(found(folder, filters={"site": ["other.test"]}))) == set()


def test_near_duplicates_are_folded_unless_they_are_asked_for(tmp_path: Path) -> None:
    text = " ".join(f"word{number} and the flood of that year" for number in range(60))
    with running(tmp_path) as crawl:
        crawl.page("a", "x", [post("one", text)])
        crawl.page("b", "y", [post("two", text.replace("word30", "word31"))])
        crawl.page("c", "z", [post("three", "Quite another text on the flood.")])
    result = found(tmp_path, "flood")
    assert sorted((hit.alike for hit in result.hits), reverse=True) == [1, 0]
    assert len(found(tmp_path, "flood", is_folded=False).hits) == 3


def test_scores_of_several_folders_are_as_if_they_were_one(tmp_path: Path) -> None:
    common = [post(f"c{number}", "the flood came again") for number in range(30)]
    rare = [post("rare", "the flood came at dawn"), post("other", "a quiet day with cake at home")]
    for name, written in (("apart/a", [common]), ("apart/b", [rare]), ("one", [common, rare])):
        with running(tmp_path / name) as crawl:
            for number, objects in enumerate(written):
                crawl.page(f"{name}{number}", "nothing", objects)
    apart = [caught_up(tmp_path / "apart" / name).opened() for name in "ab"]
    question = Question("flood came", filters={"kind": ["object"]}, is_folded=False, limit=40)
    scores, whole = (
        {hit.entry.thing: hit.score for hit in found.hits}
        for found in (
            search(apart, question),
            found(tmp_path / "one", "flood came", filters={"kind": ["object"]}, is_folded=False, limit=40),
        )
    )
    assert scores.keys() == whole.keys()
    assert all(score == pytest.approx(whole[thing], rel=0.25) for thing, score in scores.items())
    alone = search(apart[1:], question).hits[0].score
    rare_thing = next(thing for thing in scores if thing.endswith("#rare"))
    assert abs(scores[rare_thing] - whole[rare_thing]) < abs(alone - whole[rare_thing])


def test_a_saved_search_tells_what_is_new_since_the_last_look(tmp_path: Path) -> None:
    with running(tmp_path) as crawl:
        crawl.page("a", "one", [post("o", "the flood came")])
        looked = news([caught_up(tmp_path).opened()], SavedSearch(query="flood"), 10)
        assert [hit.entry.text for hit in looked.hits] == ["the flood came"]
        crawl.page("b", "two", [post("p", "the flood went")])
        looked = news([caught_up(tmp_path).opened()], looked.saved, 10)
        assert looked.found.total == 2
        assert [hit.entry.text for hit in looked.hits] == ["the flood went"]
        assert news([caught_up(tmp_path).opened()], looked.saved, 10).hits == ()


def test_what_is_new_and_was_not_shown_is_new_at_the_next_look(tmp_path: Path) -> None:
    with running(tmp_path) as crawl:
        crawl.page("a", "one", [post("o", "the flood came by night"), post("p", "nobody expected such a flood here")])
        crawl.page("b", "two", [post("q", "after the flood all bridges were rebuilt in stone")])
        saved, shown = SavedSearch(query="flood"), list[str]()
        for left in (3, 2, 1, 0):
            looked = news([caught_up(tmp_path).opened()], saved, 1)
            assert looked.number == left
            shown += [hit.entry.text for hit in looked.hits]
            saved = looked.saved
        assert len(set(shown)) == 3


@given(st.integers(-62_000_000_000, 250_000_000_000), st.integers(0, 10_000_000_000))
def test_the_time_line_covers_a_time_without_gaps(first: int, length: int) -> None:
    bounds = time_bounds(first, min(first + length, 253_000_000_000))
    assert bounds[0][0] <= first < bounds[0][1]
    assert bounds[-1][1] > min(first + length, 253_000_000_000)
    assert all(before[1] == after[0] for before, after in pairwise(bounds))
    assert len(bounds) <= 130


def test_what_is_folded_is_counted_beside_what_is_shown(tmp_path: Path) -> None:
    copied = "The mayor opened the new dyke at noon. " * 20
    with running(tmp_path) as crawl:
        crawl.page("first", "nothing", [post(f"copy{number}", copied) for number in range(4)])
        crawl.page("second", "nothing", [post("other", "Nobody saw the mayor.")])
    result = found(tmp_path, "mayor")
    assert (result.total, len(result.hits), result.folded) == (5, 2, 3)
    assert [*tell(result, result.hits, new=None, facets=False)] == ["5 found; 2 shown; 3 near duplicates folded"]
    alone = found(tmp_path, "nobody")
    assert [*tell(alone, alone.hits, new=None, facets=False)] == ["1 found"]


PHRASE = '"the ferry is awful"'
TALK = "The dike is new. The ferry, though: the FERRY is awful!"


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        (PHRASE, TALK, ["the FERRY is awful"]),
        (f"{PHRASE} dike", TALK, ["dike", "the FERRY is awful"]),
        (f"{PHRASE} the", TALK, ["The", "The", "the FERRY is awful"]),
        (PHRASE, "The dike is awful.", ["The", "is", "awful"]),
        (PHRASE, f"{'the ferry is ' * 4_615}the ferry is awful, the end", ["the ferry is awful"]),
        ('"the the"', "the the the the the", ["the the", "the the"]),
        ('"ferry"', TALK, ["ferry", "FERRY"]),
        ('"ferry awful"~2', TALK, ["ferry", "FERRY", "awful"]),
        ('"zurich lake"', "Zürich, lake. Zürich", ["Zürich, lake"]),
    ],
)
def test_the_words_of_a_phrase_are_marked_in_a_row_where_they_stand_so(
    query: str, text: str, marked: list[str]
) -> None:
    assert [text[begin:end] for begin, end in words_in(query, text)] == marked
    snippet = Marker(parse(query), is_lenient=False).snippet(text, "en")
    assert [piece.text for piece in snippet if piece.is_marked] == marked


def test_a_snippet_shows_the_beginning_of_a_phrase_that_is_longer() -> None:
    words = " ".join(f"word{n}" for n in range(60))
    shown = Marker(parse(f'"{words}"'), is_lenient=False).snippet(f"{'so ' * 400}{words} on", "en")
    assert words.startswith("".join(piece.text for piece in shown if piece.is_marked) or "nothing")


@pytest.mark.parametrize("text", ["a " * 50_000, "a." * 50_000, "a" * 100_000])
def test_phrases_are_found_in_time_that_grows_with_the_text(text: str) -> None:
    asked = f'"{"a " * 60}b"'
    with at_most(1):
        assert words_in(asked, text) is not None


def test_a_snippet_shows_the_words_wherever_in_a_long_text_they_are() -> None:
    text = f"{'the mayor spoke of this and that ' * 14_000}and then the wardens of the floods came"
    marked = [piece.text for piece in Marker(parse("mayor warden flood"), is_lenient=False).snippet(text, "en")]
    assert {"wardens", "floods"} <= {*marked}
    assert {"wardnes"} <= {
        piece.text for piece in Marker(parse("wardens"), is_lenient=True).snippet(f"{'so ' * 30_000}wardnes", "")
    }
