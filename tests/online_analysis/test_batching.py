"""Batches: what several pages together say of the URLs that they link to."""

from collections.abc import Sequence
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from online_analysis.aggregation import Scores, aggregate
from online_analysis.analysers import TextAnalyser
from online_analysis.batching import Batch, BatchScore, contribution
from online_analysis.document import Document, Outlink
from online_analysis.similarity import PAGE, counts_closeness, score
from online_analysis.terms import Lexicon
from online_analysis.topic import Topic
from tests.online_analysis.documents import page

PHRASES = ["wind turbine", "offshore", "electricity grid", "rotor"]
TOPIC = Topic(PHRASES, ["Offshore wind turbines feed the electricity grid; their rotors turn slowly."], Lexicon())
WEIGHTS = {"text": 1.0, "url": 3.0}
ON = "The offshore wind turbines feed the electricity grid, and each rotor turns in the wind."
OFF = "The bakery sells rye bread, and on Sundays there are rolls with poppy seeds."
TARGET = "https://forum.example.org/t/2"


def link(anchor: str = "see there", context: str = "", url: str = TARGET) -> Outlink:
    return Outlink(url, anchor, context)


def analysed(document: Document, *others: Scores) -> tuple[Scores, ...]:
    return (TextAnalyser(TOPIC).analyse(document), *others)


def batch_of(*documents: tuple[Document, Sequence[Scores]], pages: int = 10) -> Batch:
    batch = Batch(TOPIC, WEIGHTS, pages)
    for document, scores in documents:
        wanted = {each.url for each in document.outlinks}
        batch.add(contribution(document, TOPIC.counting.of(document), scores), wanted)
    return batch


def scored(*documents: Document) -> dict[str, BatchScore]:
    return dict(batch_of(*((document, analysed(document)) for document in documents)).scores())


@pytest.mark.parametrize("text", [ON, OFF])
def test_a_batch_of_one_page_scores_its_links_as_the_page_alone_does(text: str) -> None:
    document = page(text, links=[link("wind turbine", text), link("rolls", text, "https://forum.example.org/t/3")])
    alone = aggregate(document, analysed(document), WEIGHTS)
    together = scored(document)
    assert [together[each.url].score for each in alone] == pytest.approx([each.score for each in alone], abs=0.02)
    assert [each.pages for each in together.values()] == [1, 1]


def test_the_pages_that_link_to_a_url_are_compared_as_one() -> None:
    on, off = page(ON, links=[link("")]), page(OFF, links=[link("")], url="https://forum.example.org/t/9")
    both = scored(on, off)[TARGET]
    counts = dict(TOPIC.counting.of(on).counts)
    for term, number in TOPIC.counting.of(off).counts.items():
        counts[term] = counts.get(term, 0) + number
    units = [piece for each in (on, off) for piece in TOPIC.counting.of(each).parts]
    vector = TOPIC.vector("en")
    assert both.parts["text"] == pytest.approx(score(vector, counts_closeness(counts, vector, PAGE, units)))
    assert both.pages == 2
    assert scored(off)[TARGET].score < both.score < scored(on)[TARGET].score


def test_a_page_that_links_twice_counts_once_and_all_of_its_anchors_count() -> None:
    once = scored(page(OFF, links=[link("bread")]))[TARGET]
    twice = scored(page(OFF, links=[link("bread"), link("wind turbine")]))[TARGET]
    assert twice.pages == 1
    assert twice.parts["text"] > once.parts["text"]


def test_what_other_analysers_say_is_averaged_over_the_links() -> None:
    first, second = page(OFF, links=[link(), link()]), page(OFF, links=[link()], url="https://forum.example.org/t/9")
    batch = batch_of(
        (first, (Scores("url", None, (0.2, 0.4)), Scores("temporal", 0.5))),
        (second, (Scores("url", None, (None,)), Scores("temporal", 0.8))),
    )
    found = batch.scores()[TARGET]
    assert found.parts == pytest.approx({"url": 0.3, "temporal": 0.6})
    assert found.score == pytest.approx((3 * 0.3 + 0.6) / 4)


def test_a_url_that_nobody_scores_gets_0() -> None:
    document = page("", links=[link("")])
    assert batch_of((document, ())).scores() == {TARGET: BatchScore(0.0, {}, 1)}


def test_what_is_not_wanted_is_left_out() -> None:
    batch = Batch(TOPIC, WEIGHTS, 2)
    document = page(ON, links=[link(), link(url="https://other.example.org/")])
    batch.add(contribution(document, TOPIC.counting.of(document), analysed(document)), {TARGET})
    assert list(batch.scores()) == [TARGET]


def test_pages_of_several_languages_are_compared_each_in_its_own() -> None:
    english = page(ON, links=[link("")])
    german = page("Die Bäckerei verkauft Brot und Brötchen.", links=[link("")], language="de", url="https://a.test/")
    together = scored(english, german)[TARGET]
    apart = [scored(each)[TARGET].parts["text"] for each in (english, german)]
    assert together.parts["text"] == pytest.approx(sum(apart) / 2)
    assert together.pages == 2


def test_a_batch_is_full_by_its_pages_or_by_what_they_hold() -> None:
    document = page(ON, links=[link()])
    few = batch_of((document, ()), pages=2)
    assert (len(few), few.is_full) == (1, False)
    assert batch_of((document, ()), (document, ()), pages=2).is_full
    small = Batch(TOPIC, WEIGHTS, 100, entries=5)
    small.add(contribution(document, TOPIC.counting.of(document), ()), {TARGET})
    assert small.is_full


texts = st.lists(st.sampled_from([ON, OFF, "", "12 13", "Rotor offshore"]), max_size=3)
pages = st.lists(
    st.builds(
        lambda parts, links, number, language: page(
            *parts, links=links, url=f"https://a.test/{number}", language=language
        ),
        texts,
        st.lists(
            st.builds(
                lambda anchor, context, number: link(anchor, context, f"https://b.test/{number}"),
                st.sampled_from(["", "7", "wind turbine", "bread"]),
                st.sampled_from(["", ON, OFF]),
                st.integers(0, 3),
            ),
            max_size=5,
        ),
        st.integers(0, 3),
        st.sampled_from(["en", "de", None]),
    ),
    max_size=5,
)


@pytest.mark.slow
@given(pages)
def test_every_link_gets_a_score_from_0_to_1_whatever_came_before(documents: list[Document]) -> None:
    found = scored(*documents)
    assert set(found) == {each.url for each in chain.from_iterable(document.outlinks for document in documents)}
    for each in found.values():
        assert 0.0 <= each.score <= 1.0
        assert all(0.0 <= part <= 1.0 for part in each.parts.values())
        assert 1 <= each.pages <= len(documents)
    assert scored(*documents) == found
