"""Partners that come closer and go apart over time."""

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from lxml import html

from aahcrawler.annotations import Kind
from aahcrawler.layout import ARCHIVE
from aahcrawler.service.views.ties_over_time import MIN_OBJECTS, TieOverTime, Trend, most_changed, ties_over_time
from aahcrawler.webobject import WebObject
from offline.enrichment import entity_annotator
from offline.enrichment.enriching import enrich
from offline.enrichment.steps import chosen_steps
from tests.cockpit.cockpit_browser import READER, serving
from tests.cockpit.test_packages import Visitor
from tests.crawl.crawling import until
from tests.enrichment.archives import define
from tests.offline.crawls import capture, post, writer

MONTHS = {f"o{n}": f"2019-{1 + n // 4:02}" for n in range(40)}
LEEDS = "urn:aahcrawler:entity:university%20of%20leeds"


def together(label: str, *numbers: int) -> Iterator[tuple[Kind, str, str, str]]:
    for number in numbers:
        yield Kind.PLACE, f"urn:{label}", label, f"o{number}"


def by_label(*rows: Iterator[tuple[Kind, str, str, str]]) -> dict[str, TieOverTime]:
    return {each.label: each for each in ties_over_time((row for some in rows for row in some), MONTHS)}


def test_a_tie_rises_or_falls_where_chance_would_hardly_have_it_so() -> None:
    rising, falling = together("Holm", *range(22, 40)), together("Sund", *range(16))
    found = by_label(rising, falling, together("Vik", 1, 9, 25, 33), together("Eid", 39))
    assert {label: each.trend for label, each in found.items()} == {
        "Holm": Trend.RISING,
        "Vik": Trend.STEADY,
        "Sund": Trend.FALLING,
    }
    assert [*found] == ["Holm", "Vik", "Sund"]
    assert (found["Holm"].earlier, found["Holm"].later) == (0, 0.9)
    assert found["Vik"].months == {"2019-01": 1, "2019-03": 1, "2019-07": 1, "2019-09": 1}
    assert found["Vik"].change == 0


def test_what_every_object_has_is_steady_and_what_few_have_is_not_told() -> None:
    found = by_label(together("Holm", *range(40)), together("Eid", *range(38, 40)))
    assert [(each.label, each.trend, each.change) for each in found.values()] == [("Holm", Trend.STEADY, 0)]
    assert MIN_OBJECTS == 3


def test_without_a_course_of_time_nothing_is_said() -> None:
    assert ties_over_time(together("Holm", *range(9)), {}) == ()
    assert ties_over_time(together("Holm", *range(9)), dict.fromkeys(MONTHS, "2019-05")) == ()
    assert ties_over_time(together("Holm", 1, 2, 3), {"o1": "2019-05", "o9": "2019-06"}) == ()


def test_few_are_shown_those_that_changed_first() -> None:
    (tie,) = ties_over_time(together("Holm", 1, 9, 25), MONTHS)
    ties = [replace_tie(tie, n, trend) for trend in Trend for n in range(10)]
    shown = most_changed(ties)
    assert [each.trend for each in shown] == [Trend.RISING] * 6 + [Trend.FALLING] * 6
    steady = [replace_tie(tie, n, Trend.STEADY) for n in range(20)]
    assert len(most_changed(steady)) == 12


def test_ties_of_whatever_text_and_number_are_told_the_same_in_whichever_order_they_come() -> None:
    labels = ("<script>", "=1+1", "\u202eevil", "", "a" * 10_000, *(f"n{n}" for n in range(5_000)))
    rows = [row for number, label in enumerate(labels) for row in together(label, *range(number % 7, 40, 7))]
    months = MONTHS | {"o3": "", "o4": "no date", "o5": "9999-99"}
    ties = ties_over_time(rows, months)
    assert ties == ties_over_time(rows[::-1], months)
    assert {each.label for each in ties} >= {"<script>", "=1+1", "\u202eevil", "", "a" * 10_000}
    assert len(most_changed(ties)) == 12


def replace_tie(tie: TieOverTime, number: int, trend: Trend) -> TieOverTime:
    return tie.model_copy(update={"label": f"{trend}{number}", "trend": trend})


def written(folder: Path) -> None:
    """Write the crawl of a forum in which one river comes closer to a university, and one goes away from it."""
    define(folder)
    with writer(folder) as objects:
        for number in range(1, 41):
            river = "Trent" if number > 20 else "Humber"
            text = f"The crew of Dr Ida Berg met the University of Leeds on the River {river}, as report {number} says."
            objects.write(capture(number), [dated(post(number, 1, f"ann{number}", text), number)])
    (folder / ARCHIVE).mkdir()


def dated(made: WebObject, number: int) -> WebObject:
    return replace(
        made, properties={**made.properties, "date": (datetime(2019, 1 + (number - 1) // 4, 5, tzinfo=UTC),)}
    )


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    place = tmp_path_factory.mktemp("crawls")
    written(place / "demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entity_annotator, "installed_models", dict)
        list(enrich(place / "demo", chosen_steps(["language", "entities", "consolidation"])))
    with serving(place) as cockpit:
        yield Visitor(cockpit, READER)


HERE = "/crawls/demo/archive/spoken/organisation"


def test_the_page_of_something_shows_its_partners_over_time_and_leads_to_what_speaks_of_both(reader: Visitor) -> None:
    there = f"{HERE}?of={quote(LEEDS)}"
    until(lambda: 'id="ties"' in reader.text(there))  # The dates are known when the pages have been indexed.
    section = html.fromstring(reader.text(there)).get_element_by_id("ties")
    told = " ".join(section.text_content().split())
    assert "↗ River Trent" in told
    assert "↘ River Humber" in told
    assert section.xpath(".//svg")
    (led,) = (each.get("href") for each in section.xpath(".//table//a[.='River Trent']"))
    asked = parse_qs(urlsplit(led).query)
    assert asked["q"] == ['organisation:"University of Leeds" place:"River Trent"']
    assert "of both the River Trent" not in reader.text(led)
    assert "Ida Berg" not in told  # Nothing is put together about people.
    assert "rising" in told


def test_all_ties_are_in_a_file(reader: Visitor) -> None:
    rows = list(csv.DictReader(io.StringIO(reader.text(f"{HERE}/ties.csv?of={quote(LEEDS)}"))))
    trent = [row for row in rows if row["with"] == "River Trent"]
    assert [row["period"] for row in trent] == ["2019-06", "2019-07", "2019-08", "2019-09", "2019-10"]
    assert {(row["trend"], row["earlier share"], row["later share"], row["objects"]) for row in trent} == {
        ("rising", "0.0", "1.0", "4")
    }
    assert {row["kind"] for row in rows} == {"place"}
