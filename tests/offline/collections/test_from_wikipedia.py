"""Definitions of collections that are made from the page of an event: numbers, files, archives and fetching."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import combinations
from pathlib import Path
from statistics import fmean

import pytest
from typer.testing import CliRunner

from aahcrawler.archive.writer import WarcWriter
from aahcrawler.cli import app
from offline.collections.event_definition import (
    Definition,
    Materials,
    Sought,
    define,
    mean_delay,
    mean_distance,
    name_of,
    thresholds,
)
from offline.collections.event_page import CitedPage, EventPage, EventTime
from offline.collections.from_wikipedia import Given, materials_for, write_definition
from offline.collections.reference_pages import FetchingError, HadReference, Revision, WikiAddress
from online_analysis.document import Document, DocumentPart, Times
from online_analysis.icd import Event, Icd, Politeness
from online_analysis.pair_frequencies import PairFrequencies
from tests.archive.exchanges import INFO, page_exchange
from tests.crawl.site import Reply, Site, serving
from tests.offline.collections.test_event_page import page

START, CHANGE = datetime(2013, 6, 2, 0, 0, 1, tzinfo=UTC), datetime(2013, 7, 11, 23, 59, 59, tzinfo=UTC)
TEXT = "The dam at the upper lake broke, and the flood reached the town by night."
STORIES = (
    "The dam broke at night and the flood came down to the town, said the mayor.",
    "Engineers looked at the dam of the upper lake after the flood had reached the town.",
    "The flood took the old bridge; the town was without power until the morning.",
    "Who pays for the flood? The company that built the dam says it was not told of cracks.",
    "After the dam broke, volunteers came to the town with sandbags and soup.",
)


def had(number: int, captured: datetime = CHANGE, memento: bool = True) -> HadReference:
    url, day = f"https://news.example.org/{number}", date(2013, 6, 2 + number)
    document = Document(url, "en", "", (DocumentPart("content", STORIES[number]),), (), times=Times(captured, memento))
    return HadReference(CitedPage(url, day), document)


HAD = tuple(had(number) for number in range(5))


def event_page(**changes: object) -> EventPage:
    told = EventTime(START, datetime(2013, 6, 2, 23, 59, 59, tzinfo=UTC), "the infobox, 'Date'")
    references = (*(each.cited for each in HAD), CitedPage("https://es.example.org/presa", None, None, "in es"))
    found = EventPage("A dam break", "https://en.wikipedia.org/wiki/A_dam_break", "en", 7, TEXT, told, references)
    return replace(found, **changes)  # type: ignore[arg-type]


def loaded(definition: Definition, folder: Path) -> Icd:
    for name, text in definition.texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return Icd.parse(definition.yaml.encode(), folder / "event.yaml")


SOUGHT = Sought("archive@example.org")


def test_a_definition_has_the_values_of_the_second_article(tmp_path: Path) -> None:
    definition = define(Materials(event_page(), CHANGE, references=HAD, archive="old"), SOUGHT)
    icd = loaded(definition, tmp_path)
    assert definition.missing == ()
    assert icd.event is not None
    assert (icd.event.start, icd.event.end, icd.event.lead) == (START, CHANGE, timedelta(0))
    assert icd.event.cool_down == timedelta(days=10)  # A quarter of forty days.
    assert icd.event.grace == timedelta(days=38)  # Captured at the change point, 36 to 40 days after their dates.
    assert icd.seeds == tuple(each.cited.url for each in HAD)
    assert (icd.scope.sites, icd.scope.depth) == ("anywhere", 5)
    assert len(icd.file_texts) == 6
    found = thresholds(TEXT, HAD, icd.event, "klein")
    assert found is not None
    assert found.time == 1.0  # All were captured between event and change point.
    assert 0 < found.topic < 1
    assert icd.scoring.relevant == icd.scoring.follow == pytest.approx((found.topic + found.time) / 2, abs=1e-4)
    assert icd.scoring.relevance is not None
    assert icd.scoring.relevance.dates == "klein"
    assert "the change point of the page's edits" in definition.yaml


def test_equal_seeds_split_alike_and_others_hardly_move_the_threshold() -> None:
    event = Event(start=START, end=CHANGE)
    first, again, other = (thresholds(TEXT, HAD, event, "klein", seed) for seed in (0, 0, 1))
    assert first == again != other
    assert first is not None
    assert other is not None
    assert other.topic == pytest.approx(first.topic, abs=0.15)
    assert thresholds(TEXT, HAD[:2], event, "klein") is None


def test_times_of_references_count_where_they_are_known_and_the_article_tells_them() -> None:
    late = datetime(2015, 1, 1, tzinfo=UTC)
    event = Event(start=START, end=START + timedelta(days=2), cool_down=timedelta(days=1))
    found = thresholds(TEXT, [had(number, late) for number in range(5)], event, "klein")
    assert found is not None
    assert found.dated == 5
    assert 0.5 < found.time < 1.0  # Days 0 to 4 after the event, of which three are within its span.


def test_without_a_change_point_the_event_ends_with_the_last_version(tmp_path: Path) -> None:
    latest = Revision(datetime(2013, 6, 9, tzinfo=UTC), 12)
    definition = define(Materials(event_page(), None, latest, HAD), SOUGHT)
    icd = loaded(definition, tmp_path)
    assert icd.event is not None
    assert (icd.event.end, icd.event.cool_down) == (latest.saved, timedelta(0))
    days = [datetime(2013, 6, 2 + number, tzinfo=UTC) for number in range(5)]
    assert icd.event.grace == mean_distance(days) == timedelta(days=2)
    assert {each.partition(":")[0] for each in definition.missing} == {"event.end", "event.cool_down"}


def test_the_first_article_has_the_span_of_the_infobox_and_no_threshold(tmp_path: Path) -> None:
    definition = define(Materials(event_page(), CHANGE, references=HAD, archive="old"), replace(SOUGHT, dates="gossen"))
    icd = loaded(definition, tmp_path)
    assert icd.event is not None
    assert (icd.event.end, icd.event.grace) == (datetime(2013, 6, 2, 23, 59, 59, tzinfo=UTC), timedelta(0))
    assert icd.scoring.follow == 0.0
    assert "aah collection kinds" in definition.yaml


def test_what_is_not_found_is_told_and_left_open(tmp_path: Path) -> None:
    definition = define(Materials(event_page(time=None)), SOUGHT)
    icd = loaded(definition, tmp_path)
    assert icd.event is None
    assert {each.partition(":")[0] for each in definition.missing} == {"event", "topic", "scoring.relevant"}


def test_references_that_are_all_alike_are_told(tmp_path: Path) -> None:
    same = [replace(each, document=replace(each.document, parts=HAD[0].document.parts)) for each in HAD]
    told = define(Materials(event_page(text=STORIES[0]), CHANGE, references=tuple(same)), SOUGHT)
    assert loaded(told, tmp_path).scoring.relevant == pytest.approx(1.0, abs=1e-3)
    assert [each for each in told.missing if each.startswith("scoring.relevant: the references say nearly the same")]


def test_a_reference_whose_text_is_in_another_language_is_left_out(tmp_path: Path) -> None:
    spanish = replace(HAD[0].document, language="es", parts=(DocumentPart("content", "La presa se rompió. " * 20),))
    short = replace(HAD[1].document, language="es")
    had_in = (replace(HAD[0], document=spanish), replace(HAD[1], document=short), *HAD[2:])
    icd = loaded(define(Materials(event_page(), CHANGE, references=had_in), SOUGHT), tmp_path)
    assert icd.seeds == tuple(each.cited.url for each in HAD[1:]), "a short text does not tell its language"
    assert len(icd.file_texts) == 5
    every = define(Materials(event_page(), CHANGE, references=had_in), replace(SOUGHT, all_references=True))
    assert HAD[0].cited.url in loaded(every, tmp_path / "every").seeds


def test_all_references_are_seeds_where_that_is_wished(tmp_path: Path) -> None:
    icd = loaded(define(Materials(event_page()), replace(SOUGHT, all_references=True)), tmp_path)
    assert icd.seeds[-1] == "https://es.example.org/presa"


@pytest.mark.parametrize("title", ["\n!: {[x]}\u2028# y", "x" * 5_000, "洪水", "- a: &b"])
def test_no_title_breaks_a_definition(tmp_path: Path, title: str) -> None:
    icd = loaded(define(Materials(event_page(title=title)), SOUGHT), tmp_path)
    assert icd.id == name_of(title)


def test_distances_are_those_of_all_pairs() -> None:
    days = [datetime(2013, 6, day, 12, tzinfo=UTC) for day in (1, 30, 4, 4, 17)]
    pairs = [abs((one - other).total_seconds()) for one, other in combinations(days, 2)]
    assert mean_distance(days) == timedelta(seconds=round(fmean(pairs)))
    assert mean_distance(days[:1]) is None


def test_captures_before_the_date_of_a_reference_do_not_count() -> None:
    early = had(3, datetime(2013, 6, 1, tzinfo=UTC))
    assert mean_delay([early]) is None
    assert mean_delay([early, had(0, datetime(2013, 6, 5, tzinfo=UTC))]) == timedelta(days=3)
    assert mean_delay([had(0, memento=False)]) is None


CITED = "".join(
    f'<li><cite><a class="external" href="https://news.example.org/{n}">{n}</a>, {2 + n} June 2013</cite></li>'
    for n in range(5)
)
ARTICLE = page("<tr><th>Date</th><td>2 June 2013</td></tr>", f'<p>{TEXT}</p><ol class="references">{CITED}</ol>')


def history(first: int = 1, days: int = 200, change: int = 40) -> str:
    saved = [
        (datetime(2013, 6, 2, tzinfo=UTC) + timedelta(days=day, minutes=20 * edit)).strftime("%Y-%m-%dT%H:%M:%SZ")
        for day in range(days)
        for edit in range(8 + day % 3 if day < change else day % 17 == 0)
    ]
    revisions = [{"revid": number, "timestamp": moment} for number, moment in enumerate(saved, first)]
    return json.dumps({"query": {"pages": [{"title": "A dam break", "revisions": revisions}]}})


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["collection", *arguments])
    return done.exit_code, done.output


def test_saved_files_and_an_archive_make_a_definition_that_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "dam.html").write_bytes(ARTICLE)
    (tmp_path / "history.json").write_text(history())
    with WarcWriter(tmp_path / "old", INFO) as writer:
        for number, story in enumerate(STORIES):
            for day, text in ((1, "Coming soon."), (20, story)):
                exchange = page_exchange(f"<title>{number}</title><p>{text}</p>".encode())
                captured = datetime(2013, 5 if day == 1 else 6, day, number, tzinfo=UTC)
                writer.write(replace(exchange, url=f"https://news.example.org/{number}", started_at=captured))
    files = (str(tmp_path / "dam.html"), str(tmp_path / "history.json"))
    options = (
        "--contact",
        "archive@example.org",
        "--archive",
        str(tmp_path / "old"),
        "--output",
        str(tmp_path / "out"),
    )
    code, told = run("from-wikipedia", *files, *options)
    assert code == 0, told
    assert "holds 5 of 5 references" in told
    assert "oldid=" in told  # The page that was saved is another version than that of the change point.
    path = tmp_path / "out" / "a-dam-break.yaml"
    path.write_text(path.read_text().replace("# captures:", "captures:"))
    icd = Icd.load(path)
    # Relative to the definition, wherever the command ran.
    assert [Path(each).resolve() for each in icd.captures.sources[0].archive] == [tmp_path / "old"]
    assert icd.event is not None
    assert icd.event.end == CHANGE
    assert sorted(text for text in icd.file_texts.values() if "Coming soon" in text) == []
    assert icd.scoring.relevant > 0.5
    code, told = run("from-wikipedia", *files, *options)
    assert code != 0
    assert "exists" in told
    assert run("from-wikipedia", *files, *options, "--overwrite")[0] == 0


def test_pairs_of_words_are_counted_in_an_archive_by_the_first_capture_of_each_page(tmp_path: Path) -> None:
    with WarcWriter(tmp_path / "old", INFO) as writer:
        for number in range(4):
            for day in (1, 2):
                text = "The dam crest broke" if day == 1 else "The dam crest broke again"
                exchange = page_exchange(f"<title>{number}</title><p>{text}</p>".encode())
                captured = datetime(2013, 6, day, number, tzinfo=UTC)
                writer.write(replace(exchange, url=f"https://news.example.org/{number}", started_at=captured))
    output = tmp_path / "pairs.tsv"
    code, told = run("bigrams", str(tmp_path / "old"), "--output", str(output))
    assert code == 0, told
    assert "4 pages" in told
    (frequencies,) = PairFrequencies.parse(output.read_text()).by_language.values()
    assert frequencies.pages == 4
    assert frequencies.holding == {"dam crest": 4, "crest broke": 4}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.html"], "missing.html"),
        (["https://en.wikipedia.org/wiki/A_dam_break"], "--fetch"),
        (["empty.html"], "empty.html"),
        (["dam.html", "empty.html"], "empty.html"),
        (["dam.html", "--archive", "nowhere"], "nowhere"),
    ],
)
def test_bad_input_is_told_by_name_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.html").write_text("")
    (tmp_path / "dam.html").write_bytes(ARTICLE)
    code, told = run("from-wikipedia", *arguments, "--contact", "archive@example.org", "--output", "out")
    assert code != 0
    assert said in told
    assert not (tmp_path / "out").exists()


def test_page_history_and_references_are_fetched_politely(tmp_path: Path) -> None:
    site = Site()
    story = "<!doctype html><html lang=en><title>Dam</title><p>{}</p></html>"

    def api(path: str) -> Reply:
        if "action=parse" in path:
            assert "oldid=" in path
            cited = CITED.replace("https://news.example.org", f"http://127.0.0.1:{site.port}/news")
            body = {"parse": {"title": "A dam break", "revid": 340, "text": ARTICLE.decode().replace(CITED, cited)}}
            return Reply(json.dumps(body).encode(), headers={"Content-Type": "application/json"})
        first = json.loads(history(days=30, change=30))
        if "rvcontinue" not in path:
            first["continue"] = {"rvcontinue": "next|1", "continue": "||"}
            return Reply(json.dumps(first).encode(), headers={"Content-Type": "application/json"})
        return Reply(history().encode(), headers={"Content-Type": "application/json"})

    def answer(path: str) -> Reply:
        if path.startswith("/w/api.php"):
            return api(path)
        if path.startswith("/news/"):
            return Reply(story.format(STORIES[int(path[-1])]).encode())
        return Reply(b"", 404)

    site.other = answer
    site.pages["/robots.txt"] = Reply(
        b"User-agent: *\nDisallow: /w/\nDisallow: /news/4\n", headers={"Content-Type": "text/plain"}
    )
    with serving(site):
        given = Given(f"http://127.0.0.1:{site.port}/wiki/A_dam_break", fetch=True, allow_private=True)
        materials = materials_for(given, SOUGHT, lambda _: None, Politeness(delay=timedelta(0)))
    icd = Icd.load(write_definition(define(materials, SOUGHT), tmp_path))
    assert icd.event is not None
    assert icd.event.end == CHANGE
    assert len(icd.seeds) == 5
    assert len(icd.file_texts) == 5  # Of the last one robots.txt says that it is not to be fetched.
    assert not [each for each in site.asked if each.path == "/news/4"]
    assert all("+archive@example.org" in each.agent for each in site.asked)
    assert max(site.busiest.values()) == 1


@pytest.mark.parametrize(
    "url", ["", "ftp://a.test/wiki/A", "https://en.wikipedia.org/", "https://en.wikipedia.org/wiki/"]
)
def test_what_is_no_page_of_a_wiki_is_no_address(url: str) -> None:
    with pytest.raises(FetchingError, match="is no page"):
        WikiAddress.parse(url)


def test_titles_are_read_from_both_forms_of_addresses() -> None:
    found = WikiAddress.parse("https://de.wikipedia.org/w/index.php?title=Hochwasser_in_Mitteleuropa_2013&oldid=5")
    assert found == WikiAddress.parse("https://de.wikipedia.org/wiki/Hochwasser_in_Mitteleuropa_2013")
    assert (found.api, found.title) == ("https://de.wikipedia.org/w/api.php", "Hochwasser in Mitteleuropa 2013")


def test_kinds_of_events_are_listed_as_the_first_article_has_them() -> None:
    code, told = run("kinds")
    assert code == 0
    assert told.splitlines()[2] == "Federal election\trecurring\t1 day\tmonths\tweeks"
