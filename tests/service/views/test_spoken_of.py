"""What a crawl speaks of, as pages and the JSON interface show it."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from lxml import etree

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.annotations.annotation_settings import FILE, AnnotationSettings
from aahcrawler.layout import ARCHIVE
from aahcrawler.overview.link_graph import GRAPHML
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog, Crawl
from aahcrawler.service.cockpit.spoken_pages import Counted, as_csv
from aahcrawler.service.cockpit.spoken_sections import Leads, sections_of_all, sections_of_one
from aahcrawler.service.views.conversation_graph import Talk
from aahcrawler.service.views.enriched_crawl import NOT_ENRICHED, Enriched, TimeSpan, enriched_of
from aahcrawler.service.views.judged_words import mentions
from aahcrawler.service.views.page_indexes import NOT_READY, PageIndexes
from aahcrawler.service.views.spoken_of import MAX_LISTED, EventTold, crawl_spoken_of, table_of
from aahcrawler.service.views.spoken_of_by_all import all_spoken_of, crawl_names, table_of_all
from aahcrawler.service.views.spoken_of_one import NO_PAGE, NOT_SPOKEN_OF, spoken_of, table_of_one
from aahcrawler.service.web.entrance import UNLIMITED
from aahcrawler.service.web.problems import ProblemError
from offline.enrichment import entity_annotator
from offline.enrichment.enriching import enrich
from offline.enrichment.steps import chosen_steps
from tests.enrichment.annotators import FREQUENT, WORDS
from tests.enrichment.archives import LONG, define, write_posts
from tests.service.asking import serving

LEEDS = "urn:aahcrawler:entity:university%20of%20leeds"
TEXTS = [
    [
        ("ann", f"They love how Dr Ida Berg leads the University of Leeds with great and wonderful skill. {LONG}"),
        ("bob", f"Nobody likes how the University of Leeds lost the dike, which is a horrible mess. {LONG} So, @ann?"),
    ],
    [
        ("cy", f"The meeting of the Water Board with the University of Leeds was on 3 May 2019. {LONG}"),
        ("ann", f"La réunion de la University of Leeds était un désastre pour les gens de la ville, hélas. {LONG[:9]}"),
    ],
]
STEPS = ["language", "entities", "consolidation", "opinions", "events", "joined-events", "conversations"]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    folder = tmp_path_factory.mktemp("crawls") / "demo"
    define(folder)
    write_posts(folder, TEXTS)
    (folder / ARCHIVE).mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entity_annotator, "installed_models", dict)
        list(enrich(folder, (*chosen_steps(STEPS), WORDS, FREQUENT)))
    found = Catalog([folder.parent]).crawl("demo")
    assert found is not None
    return found


@pytest.fixture
def enriched(crawl: Crawl) -> Iterator[Enriched]:
    indexes = PageIndexes()
    with enriched_of(indexes, crawl) as found:
        yield found
    indexes.close()


def test_all_that_a_crawl_speaks_of(enriched: Enriched) -> None:
    told = crawl_spoken_of(enriched)
    assert [(each.label, each.objects) for each in told.organisations] == [
        ("University of Leeds", 4),
        ("Water Board", 1),
    ]
    assert [(each.when, each.objects) for each in told.events] == [("2019-05-03", 1)]
    assert told.totals[Kind.PERSON] == 1
    (topic,) = told.topics
    assert sum(topic.months.values()) == topic.objects
    assert all(each.kind is not Kind.PERSON for each in (*told.names, *told.places))
    rows = list(csv.DictReader(io.StringIO(bytes(as_csv("x", table_of(enriched)).body).decode())))
    assert {row["objects"] for row in rows if row["label"] == "University of Leeds"} == {"4"}


def test_what_was_counted_is_counted_anew_when_something_was_added(crawl: Crawl, enriched: Enriched) -> None:
    counted = Counted(crawl_spoken_of)
    first = counted.of(crawl, enriched)
    assert counted.of(crawl, enriched) is first
    assert counted.of(crawl, enriched, TimeSpan("2019")) is not first
    later = replace(enriched, state=(*enriched.state, 1))
    assert counted.of(crawl, later) is not first
    assert counted.of(crawl, later) == first


def test_one_thing_with_its_words_and_the_opinions_about_it(enriched: Enriched) -> None:
    told = spoken_of(enriched, Kind.ORGANISATION, LEEDS, AnnotationSettings())
    assert told.spoken.objects == 4
    assert {each.marked for each in told.quotes} == {"University of Leeds"}
    first = next(each for each in told.quotes if "wonderful" in each.behind)
    assert first.before.endswith("leads the ")
    assert [(each.polarity > 0, each.sentence.split()[0]) for each in told.opinions] in (
        [(True, "They"), (False, "Nobody")],
        [(False, "Nobody"), (True, "They")],
    )
    assert told.judged.keys() == {"en"}
    assert "Water Board" in {each.label for each in told.beside}
    (topic,) = crawl_spoken_of(enriched).topics
    of_topic = spoken_of(enriched, Kind.TOPIC, topic.of, AnnotationSettings())
    assert all(each.marked in each.terms.split(", ") and each.behind for each in of_topic.quotes)
    assert sum(praise + blame for praise, blame in told.months.values()) == told.all_opinions == 2


def worded(enriched: Enriched, *words: str) -> Enriched:
    return replace(enriched, words=words)


def test_praise_and_blame_of_a_keyword_of_the_definition(enriched: Enriched) -> None:
    asked = worded(enriched, "Dike", "horrible mess", "wonderful", "flood", "Ida", "Ida Berg")
    assert [(each.word, each.praise, each.blame) for each in crawl_spoken_of(asked).judged] == [
        ("Dike", 0, 1),
        ("horrible mess", 0, 1),
        ("wonderful", 1, 0),
        ("Ida", 1, 0),
    ]
    told = spoken_of(asked, Kind.KEYWORD, "dike", AnnotationSettings())
    assert (told.spoken.label, told.spoken.objects, told.all_opinions) == ("dike", 1, 1)
    assert [each.sentence.split()[0] for each in told.opinions] == ["Nobody"]
    assert [(each.before.split()[-1], each.marked) for each in told.quotes] == [("the", "dike")]
    assert sum(blame for _, blame in told.months.values()) == 1
    assert {each.name for each in sections_of_one(told, Leads("d", AnnotationSettings()), lambda _: None)} == {
        "balance"
    }
    rows = [row[:2] for row in table_of_one(asked, Kind.KEYWORD, "dike", AnnotationSettings())][1:]
    assert [(what, str(words).split()[0]) for what, words in map(tuple, rows)] == [
        ("mention", "dike"),
        ("opinion", "Nobody"),
    ]
    for unknown in ("dik", "is a"):
        with pytest.raises(ProblemError) as raised:
            spoken_of(asked, Kind.KEYWORD, unknown, AnnotationSettings())
        assert raised.value.kind is NOT_SPOKEN_OF


@pytest.mark.parametrize("name", ["Ida Berg", "berg", "IDA  BERG"])
def test_no_page_of_a_keyword_is_about_a_person(enriched: Enriched, name: str) -> None:
    people = AnnotationSettings(people=True)
    for ask in (spoken_of, lambda *given: [*table_of_one(*given)]):
        with pytest.raises(ProblemError) as raised:
            ask(enriched, Kind.KEYWORD, name, AnnotationSettings())
        assert raised.value.kind is NO_PAGE
    with pytest.raises(ProblemError) as raised:
        spoken_of(worded(enriched, "Ida Berg"), Kind.KEYWORD, "ida berg", AnnotationSettings())
    assert raised.value.kind is NO_PAGE
    assert spoken_of(worded(enriched, "Ida Berg"), Kind.KEYWORD, "ida berg", people).all_opinions == 1
    assert spoken_of(worded(enriched, "Berg"), Kind.KEYWORD, "Berg", AnnotationSettings()).all_opinions == 1


def test_a_word_is_a_whole_one_where_its_script_has_spaces() -> None:
    def having(word: str, *sentences: str) -> list[str]:
        said = (Annotation("o", "c", Kind.OPINION, "", "a", "1", 1.0, "", 3, 3 + len(each), each) for each in sentences)
        found = [said for _, said in mentions(word, said)]
        return [f"{each.start} {each.quote}" for each in found]

    assert having("dike", "The DIKE is bad.", "Dikes are bad.", "A dike.") == ["7 DIKE", "5 dike"]
    assert having("storm surge", "A storm\n surge!", "A storm, surge", "storm     surge") == ["5 storm\n surge"]
    assert having("堤防", "この堤防はひどい。") == ["5 堤防"]
    assert having("C++", "C++ is bad") == ["3 C++"]


def test_what_a_text_quotes_of_others_is_shown_to_be_left_out(tmp_path: Path) -> None:
    define(tmp_path / "demo", ("Baltic Insurance",))
    said = "my neighbours have waited for their money since the flood"
    answer = f"I hate how the Baltic Insurance has > {said} and lies, which is horrible. {LONG}"
    write_posts(tmp_path / "demo", [[("ann", f"Look: {said}!"), ("bob", answer)]])
    (tmp_path / "demo" / ARCHIVE).mkdir()
    list(enrich(tmp_path / "demo", chosen_steps(["language", "entities", "consolidation", "opinions"])))
    found, indexes = Catalog([tmp_path]).crawl("demo"), PageIndexes()
    assert found is not None
    with enriched_of(indexes, found) as enriched:
        (name,) = enriched.annotations.counts(Kind.NAME) or enriched.annotations.counts(Kind.ORGANISATION)
        kind = Kind.NAME if enriched.annotations.counts(Kind.NAME) else Kind.ORGANISATION
        told = spoken_of(enriched, kind, name.meant, AnnotationSettings(people=True))
    indexes.close()
    assert " ".join(told.quotes[0].behind.split()).startswith("has > […] and lies")
    (opinion,) = told.opinions
    assert " ".join(opinion.sentence.split()).startswith("I hate how the Baltic Insurance has > […] and lies")
    assert "and+lies" in Leads("demo", AnnotationSettings()).capture("r", "so > […] and lies, which")


def test_the_picture_of_events_has_those_beyond_the_table(enriched: Enriched, monkeypatch: pytest.MonkeyPatch) -> None:
    days = [f"2019-{month:02}-{day:02}" for month in range(1, 6) for day in range(1, 18)]
    every = [EventTold(of=day, label="met", when=day, objects=1) for day in days]
    monkeypatch.setattr("aahcrawler.service.views.spoken_of.events_told", lambda _: every)
    told = crawl_spoken_of(enriched)
    assert (len(told.events), told.all_events) == (MAX_LISTED, len(days))
    (section,) = (
        each
        for each in sections_of_all(told, Leads("demo", AnnotationSettings()), lambda _: None)
        if each.name == "events"
    )
    assert re.findall(r"<title>[^<]*: (\d+) events", section.html) == ["17"] * 5
    assert "The table has the first 50 of 85." in section.html


def test_nothing_is_said_to_speak_of_it_while_annotations_are_unread(enriched: Enriched) -> None:
    with pytest.raises(ProblemError) as raised:
        spoken_of(enriched, Kind.PLACE, "urn:aahcrawler:entity:nowhere", AnnotationSettings())
    assert raised.value.kind is NOT_SPOKEN_OF
    read = replace(enriched, unread="2 of about 4 captures' annotations are read; the others are being read.")
    with pytest.raises(ProblemError) as raised:
        spoken_of(read, Kind.PLACE, "urn:aahcrawler:entity:nowhere", AnnotationSettings())
    assert raised.value.kind is NOT_READY
    assert raised.value.detail.startswith("2 of about 4 captures' annotations are read")
    assert spoken_of(read, Kind.ORGANISATION, LEEDS, AnnotationSettings()).spoken.objects == 4


@pytest.fixture
def dated(crawl: Crawl) -> Iterator[Enriched]:
    """Yield the crawl with other dates of publication: a post of each thread later than the other one."""
    indexes = PageIndexes()
    with enriched_of(indexes, crawl) as found:
        months = ("2019-01-05", "2020-03-01", "2019-02", "2020")
        dates = dict(zip(sorted(found.dates()), months, strict=True))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Enriched, "dates", lambda _: dates)
            yield found
    indexes.close()


def test_within_a_span_of_time_numbers_and_sentences_follow_and_months_stay(dated: Enriched) -> None:
    span = TimeSpan("2019-01", "2019")
    whole, told = crawl_spoken_of(dated), crawl_spoken_of(dated, span)
    assert told.published == whole.published == {"2019-01": 1, "2019-02": 1, "2020": 1, "2020-03": 1}
    assert [each.objects for each in told.organisations if each.of == LEEDS] == [2]
    assert sum(n for month, n in told.topics[0].months.items()) == whole.topics[0].objects
    assert sum(each.objects for each in told.topics) < sum(each.objects for each in whole.topics)
    one = spoken_of(dated, Kind.ORGANISATION, LEEDS, AnnotationSettings(), span)
    assert (one.spoken.objects, sum(one.spoken.months.values())) == (2, 4)
    assert [each.sentence.split()[0] for each in one.opinions] == ["They"]
    assert sum(praise + blame for praise, blame in one.months.values()) == 2
    assert {each.published[:4] for each in one.quotes} == {"2019"}
    nothing = spoken_of(dated, Kind.ORGANISATION, LEEDS, AnnotationSettings(), TimeSpan("2021"))
    assert (nothing.spoken.objects, nothing.quotes, nothing.opinions) == (0, (), ())
    rows = [*table_of_one(dated, Kind.ORGANISATION, LEEDS, AnnotationSettings(), span)]
    assert [row[0] for row in rows[1:]] == ["mention", "mention", "opinion"]
    assert {row[1] for row in rows[1:3]} == {"University of Leeds"}


def test_the_interface_for_programs_tells_the_same_within_a_span(crawl: Crawl, dated: Enriched) -> None:
    def months(told: Mapping[str, Any]) -> int:
        return sum(told["months"].values())

    folder = crawl.folder
    assert folder is not None
    with serving(ServiceSettings(Catalog([folder.parent]), rates=UNLIMITED)) as service:

        def asked(path: str, **span: str) -> Mapping[str, Any]:
            answer = service.ask("GET", f"/v1/crawls/demo/{path}?{urlencode(span)}")
            assert answer.status == 200, answer.body
            found: Mapping[str, Any] = answer.json
            return found

        span = {"since": "2019-01", "until": "2019"}
        assert asked("spoken-of", **span) == json.loads(
            crawl_spoken_of(dated, TimeSpan(**span)).shown_by(AnnotationSettings()).model_dump_json()
        )
        one = asked("spoken-of/organisation", of=LEEDS, **span)["spoken"]
        assert (one["objects"], months(one)) == (2, 4)
        assert asked("spoken-of/organisation", of=LEEDS)["spoken"]["objects"] == 4
        assert asked("conversations")["answers"] > asked("conversations", until="2018")["answers"] == 0
        assert service.ask("GET", "/v1/crawls/demo/spoken-of?since=March").status == 400


def test_what_all_crawls_speak_of_has_people_of_those_alone_that_show_them(crawl: Crawl) -> None:
    indexes = PageIndexes()
    assert crawl.folder is not None
    elsewhere = crawl.folder / ".." / crawl.folder.name
    again = replace(crawl, icd=crawl.icd.model_copy(update={"id": "again"}), folder=elsewhere)
    bare = replace(crawl, folder=crawl.folder.parent / "bare")
    settings = {crawl.folder: False, elsewhere: True}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AnnotationSettings, "of", lambda each: AnnotationSettings(people=settings[each]))
        found = all_spoken_of(indexes, (crawl, again, bare), lambda _, enriched: crawl_names(enriched))
    indexes.close()
    leeds = next(each for each in found.names[Kind.ORGANISATION] if each.of == LEEDS)
    assert (leeds.crawls, leeds.objects) == ({"again": 4, "demo": 4}, 8)
    assert [each.crawls for each in found.names[Kind.PERSON]] == [{"again": 1}]
    assert ([each.id for each in found.crawls], [each.id for each in found.left_out]) == (["demo", "again"], ["demo"])
    assert sum(found.published.values()) == 8
    assert {row[3] for row in table_of_all(found)} == {"crawl", "demo", "again"}


def test_no_page_is_about_a_person_unless_the_institution_wants_it(enriched: Enriched) -> None:
    berg = enriched.annotations.counts(Kind.PERSON)[0].meant
    with pytest.raises(ProblemError) as refused:
        spoken_of(enriched, Kind.PERSON, berg, AnnotationSettings())
    assert refused.value.kind is NO_PAGE
    with pytest.raises(ProblemError):
        next(table_of_one(enriched, Kind.PERSON, berg, AnnotationSettings()))
    assert spoken_of(enriched, Kind.PERSON, berg, AnnotationSettings(people=True)).spoken.label == "Ida Berg"
    with pytest.raises(ProblemError) as unknown:
        spoken_of(enriched, Kind.PLACE, "urn:x", AnnotationSettings())
    assert unknown.value.kind is NOT_SPOKEN_OF


def test_who_answers_whom_has_no_names_unless_the_institution_wants_them(enriched: Enriched) -> None:
    named = Talk(enriched, "", named=True)
    told = named.told()
    assert {each.name for each in told.voices} >= {"ann", "bob"}
    hidden = Talk(enriched, "", named=False)
    assert {each.name for each in hidden.told().voices} == {f"person {n}" for n in range(1, told.people + 1)}
    for talk in (named, hidden):
        graph = etree.fromstring(talk.graphml())
        assert len(graph.findall(f".//{{{GRAPHML}}}node")) == told.people
        weights = [int(str(each.text)) for each in graph.iterfind(f".//{{{GRAPHML}}}edge/*[@key='weight']")]
        assert sum(weights) == told.answers > 0
    graph = etree.fromstring(named.graphml())
    told_of = {
        str(node.get("id")): {str(data.get("key")): str(data.text) for data in node}
        for node in graph.iterfind(f".//{{{GRAPHML}}}node")
    }
    for voice in told.voices:
        assert float(told_of[voice.name]["influence"]) == pytest.approx(voice.influence, rel=1e-4)
        assert told_of[voice.name].get("community", "0") == str(voice.community)
    (answer,) = named.answers(enriched, "bob", "ann")
    assert answer.marked == "@ann"
    assert hidden.answers(enriched, *(hidden.shown[name] for name in ("bob", "ann"))) == ()
    assert b"ann" not in hidden.graphml().replace(b"person", b"")


def test_a_crawl_that_nobody_enriched_names_the_command(tmp_path: Path) -> None:
    define(tmp_path / "demo")
    (tmp_path / "demo" / ARCHIVE).mkdir()
    found = Catalog([tmp_path]).crawl("demo")
    assert found is not None
    with pytest.raises(ProblemError, match=r"aah enrich .*demo`") as refused, enriched_of(PageIndexes(), found):
        pass
    assert refused.value.kind is NOT_ENRICHED


def test_settings_are_read_and_a_mistake_in_them_is_told(tmp_path: Path) -> None:
    path = tmp_path / FILE
    assert AnnotationSettings.read(tmp_path) == AnnotationSettings()
    path.write_text(
        'people = true\n[[sources]]\nname = "Map"\nkinds = ["place"]\ntemplate = "https://m.test/?q={label}"'
    )
    read = AnnotationSettings.read(tmp_path)
    assert (read.people, read.note) == (True, "")
    assert read.links(Kind.PLACE, "A&B/c")[0].address == "https://m.test/?q=A%26B%2Fc"
    assert read.links(Kind.ORGANISATION, "A") == ()
    for wrong in (
        'people = "perhaps"',
        "people = true\nunknown = 1",
        "people = ",
        '[[sources]]\nname = "x"\ntemplate = "javascript:{label}"',
        '[[sources]]\nname = "x"\ntemplate = "https://m.test/{label.__class__}"',
        '[[sources]]\nname = "x"\ntemplate = "https://m.test/{"',
    ):
        path.write_text(wrong)
        found = AnnotationSettings.read(tmp_path)
        assert found.note.startswith(f"{FILE} is not heeded"), wrong
        assert (found.people, found.sources) == (False, ())
