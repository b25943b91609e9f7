"""The world of the enrichment benchmark is true to what it says of itself, and its scorers tell right from wrong."""

from collections import Counter
from dataclasses import replace

from aahcrawler.annotations import Annotation, Kind
from benchmarks.enrichment import (
    Count,
    answers,
    dates,
    look_alikes,
    mentions,
    opinions,
    pictures,
    properties,
    same,
    topics,
)
from benchmarks.enrichment_world import Planted, World, world
from offline.enrichment.annotator import ObjectText


def test_the_same_seed_makes_the_same_world_and_the_halves_share_no_opinion() -> None:
    first, again, aside = world(3, 60), world(3, 60), world(3, 60, kept_aside=True)
    assert first == again
    assert first.objects != aside.objects


def test_what_is_planted_stands_where_it_is_said_to_stand() -> None:
    made = world(5, 120)
    texts = {each.object: each for each in made.objects}
    counted = Counter(each.kind for each in made.planted)
    assert all(counted[kind] for kind in (Kind.PERSON, Kind.ORGANISATION, Kind.PLACE, Kind.OPINION, Kind.EVENT))
    for each in made.planted:
        words = texts[each.object].text[each.start : each.end] if each.start >= 0 else ""
        if each.kind in (Kind.OPINION, Kind.EVENT):
            assert words[-1] in ".!?)", words
        if each.kind == Kind.PLACE:
            assert words == each.meant.rpartition("/")[2]
        if each.kind == Kind.EVENT and len(each.when) == 10 and texts[each.object].published:
            assert each.when < texts[each.object].published


def test_nothing_is_planted_where_a_date_cannot_be_told() -> None:
    made = world(7, 200)
    texts = {each.object: each for each in made.objects}
    for each in made.planted:
        if each.kind == Kind.EVENT and "yesterday" in texts[each.object].text[each.start : each.end]:
            assert len(texts[each.object].published) > len("2012-01")


ONE = ObjectText("urn:a", "urn:c", "post", "https://a.test/", "Anna came. Good. Bad.", language="en")
TWO = replace(ONE, object="urn:b", language="de")


def said(kind: Kind, start: int, end: int, of: str = "urn:a", iri: str = "", **values: str) -> Annotation:
    return Annotation(of, "urn:c", kind, "x", "test", "1", 1.0, iri, start, end, values=tuple(sorted(values.items())))


def test_mentions_are_right_where_kind_and_place_agree() -> None:
    made = World((ONE,), (Planted("urn:a", Kind.PERSON, "anna", 0, 4),), {"urn:a": ((11, 16),)})
    score = mentions(Kind.PERSON, Kind.PLACE)
    assert score(made, [said(Kind.PERSON, 0, 4)])["en"] == Count(1, 1, 1)
    assert score(made, [said(Kind.PLACE, 0, 4), said(Kind.PERSON, 17, 20)])["en"] == Count(0, 2, 1)
    assert score(made, [said(Kind.PERSON, 11, 15)])["en"] == Count(0, 0, 1)
    assert score(made, [said(Kind.PERSON, 0, 4)] * 2)["en"] == Count(1, 2, 1)


def test_opinions_and_dates_are_right_by_what_they_say() -> None:
    planted = Planted("urn:a", Kind.OPINION, "positive", 11, 16), Planted("urn:a", Kind.EVENT, "e", 0, 10, "2014-05")
    made = World((ONE,), planted, {})
    assert opinions(made, [said(Kind.OPINION, 11, 16, polarity="0.4")])["all"] == Count(1, 1, 1)
    assert opinions(made, [said(Kind.OPINION, 11, 16, polarity="-0.4")])["all"] == Count(0, 1, 1)
    assert dates(made, [said(Kind.EVENT, 0, 9, when="2014-05")])["all"] == Count(1, 1, 1)
    assert dates(made, [said(Kind.EVENT, 0, 9, when="2014-05-01")])["all"] == Count(0, 1, 1)


def test_what_means_the_same_is_counted_by_pairs() -> None:
    planted = [Planted(of, Kind.PERSON, "anna", 0, 4) for of in ("urn:a", "urn:b")]
    made = World((ONE, TWO), (*planted, Planted("urn:a", Kind.PERSON, "bert", 11, 15)), {})
    one, two = said(Kind.PERSON, 0, 4, iri="urn:1"), said(Kind.PERSON, 0, 4, "urn:b", iri="urn:1")
    assert same(Kind.PERSON)(made, [one, two])["all"] == Count(1, 1, 1)
    assert same(Kind.PERSON)(made, [one])["all"] == Count(0, 0, 1)
    assert same(Kind.PERSON)(made, [one, two, said(Kind.PERSON, 11, 15, iri="urn:1")])["all"] == Count(1, 3, 1)


def test_topics_are_right_by_the_most_of_each_and_answers_by_name() -> None:
    planted = [Planted(of, Kind.TOPIC, meant) for of, meant in (("urn:a", "tea"), ("urn:b", "bees"))]
    made = World((ONE, TWO), (*planted, Planted("urn:a", Kind.CONVERSATION, "Bert")), {})
    assert topics(made, [said(Kind.TOPIC, -1, -1, iri="urn:t")])["all"] == Count(1, 1, 2)
    assert answers(made, [said(Kind.CONVERSATION, -1, -1, to="Bert")])["all"] == Count(1, 1, 1)
    assert answers(made, [said(Kind.CONVERSATION, -1, -1, to="Carl")])["all"] == Count(0, 1, 1)


def test_pictures_are_right_by_what_their_files_say_and_by_pairs_that_show_the_same() -> None:
    planted = list(pictures(2, 4))
    assert planted == list(pictures(2, 4))
    media = [
        Annotation(each.medium.object, "urn:c", Kind.MEDIUM, "x", "media", "1", 1.0, values=each.said)
        for each in planted
    ]
    whole = properties(planted, media)
    assert whole.right == whole.found == whole.planted
    assert properties(planted, media[1:]).right == whole.right - len(planted[0].said)
    alike = [replace(each, iri=f"urn:{one.shows}") for each, one in zip(media, planted, strict=True)]
    pairs = look_alikes(planted, alike)
    assert pairs.right == pairs.found == pairs.planted > 0
    assert look_alikes(planted, [replace(each, iri="urn:all") for each in alike]).found > pairs.planted
