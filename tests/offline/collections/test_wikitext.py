"""Pages of wikis as their authors write them, written for these tests."""

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from offline.collections.event_definition import Sought
from offline.collections.event_page import CitedPage, EventPageError
from offline.collections.from_wikipedia import Given, materials_for
from offline.collections.wikitext import read_wikitext, templates_in, wikitext_of

PAGE = """{{short description|A break}}<!-- {{never}} -->
{{Infobox event
| title = A dam break
| date  = %s
| place = [[Upper Lake]], {{coord|1|2}}
}}
[[File:Dam.jpg|thumb|The [[dam]] in 2012]]
'''The dam''' at the [[Upper Lake|upper lake]] broke,<ref name="a">{{cite news |url=https://news.example.org/dam
|title=Dam |date=3 June 2013 |access-date=9 June 2013 |archive-url=https://web.archive.org/web/20130605101500/https://news.example.org/dam}}</ref>
and the flood reached the town by night.<ref name="a" /> Nobody in the town was hurt, said the mayor of the town.
== After ==
* It was rebuilt.<ref>[https://es.example.org/presa Presa], 4 June 2013. Retrieved 9 June 2013</ref>
{| class=wikitable
| not this
|}
<ref>{{cite web|url=https://fr.example.org/b|langue=fr|title=B}}</ref><ref>no link</ref>
<ref>{{cite web|title=R|url=https://docs.example.org/report.pdf}}</ref>
[[Category:Dams]]
"""


@pytest.mark.parametrize(
    ("written", "first", "last"),
    [
        ("{{Start date|2013|06|02|df=y}}", date(2013, 6, 2), date(2013, 6, 2)),
        ("{{Start date|2013|06|02|10|59|TZ=−08:00}}", date(2013, 6, 2), date(2013, 6, 2)),
        ("{{start and end dates|2013|5|30|2013|6|25}}", date(2013, 5, 30), date(2013, 6, 25)),
        ("{{Start date|2013|5|30}} – {{End date|2013|6|25}}", date(2013, 5, 30), date(2013, 6, 25)),
        ("2–4 June 2013<br>[[Sunday]]", date(2013, 6, 2), date(2013, 6, 4)),
    ],
)
def test_the_date_of_an_event_is_read_from_templates_and_words(written: str, first: date, last: date) -> None:
    found = read_wikitext(PAGE % written, {}, "A dam break")
    assert found.time is not None
    assert (found.time.start.date(), found.time.end.date()) == (first, last)
    assert found.time.source == "the infobox, 'date'"


@pytest.mark.parametrize("written", ["", "June 2013", "{{Start date|2013|13|45}}", "{{Start date|{{{year}}}|06}}"])
def test_what_names_no_day_is_no_date(written: str) -> None:
    assert read_wikitext(PAGE % written, {}).time is None


def test_text_and_references_are_read() -> None:
    found = read_wikitext(PAGE % "{{Start date|2013|06|02}}", {"revid": 12}, "A dam break")
    assert found.text.split("\n") == [
        "The dam at the upper lake broke,",
        "and the flood reached the town by night. Nobody in the town was hurt, said the mayor of the town.",
        "After",
        "It was rebuilt.",
    ]
    assert (found.title, found.language, found.revision, found.is_cited) == ("A dam break", "en", 12, True)
    assert found.references == (
        CitedPage("https://news.example.org/dam", date(2013, 6, 3), datetime(2013, 6, 5, 10, 15, tzinfo=UTC)),
        CitedPage("https://es.example.org/presa", date(2013, 6, 4)),
        CitedPage("https://fr.example.org/b", None, None, "in fr"),
        CitedPage("https://docs.example.org/report.pdf", None, None, "application/pdf"),
    )


def test_wikitext_is_told_from_html_and_found_in_answers() -> None:
    text = PAGE % "2 June 2013"
    parsed = {"parse": {"title": "T", "revid": 3, "wikitext": {"*": text}}}
    revision = {"revid": 3, "slots": {"main": {"content": text}}}
    queried = {"query": {"pages": [{"title": "T", "revisions": [revision]}]}}
    assert wikitext_of(text.encode()) == (text, {})
    for answer in (parsed, queried):
        found = wikitext_of(json.dumps(answer).encode())
        assert found is not None
        assert (found[0], found[1]["title"], found[1]["revid"]) == (text, "T", 3)
    assert wikitext_of(b"<!doctype html><html><p>[[a]]</p></html>") is None
    assert wikitext_of(b'{"parse": {"text": "<p>"}}') is None
    assert wikitext_of(b'{"a": ' * 100_000) is None


def test_a_saved_file_of_wikitext_is_a_page(tmp_path: Path) -> None:
    (tmp_path / "A_dam_break.wiki").write_text(PAGE % "2 June 2013")
    found = materials_for(Given(str(tmp_path / "A_dam_break.wiki")), Sought("a@example.org"), lambda _: None).page
    assert (found.title, len(found.references)) == ("A dam break", 4)


@pytest.mark.parametrize(
    "text",
    [
        "{{" * 30_000 + "a",
        "{{a|" * 30_000 + "}}" * 30_000,
        "[[" * 30_000 + "}}" * 30_000,
        "{{infobox|date=" + "1 - June " * 10_000 + "}}",
        "<!--" * 30_000,
        "<ref>" * 30_000,
        "[[a|" * 30_000 + "]]" * 30_000,
        "[http://" * 30_000,
    ],
)
def test_what_is_never_closed_takes_bounded_work(text: str) -> None:
    found = read_wikitext(f"A word about the dam.\n{text}", {})
    assert found.text.startswith("A word about the dam.")
    assert found.time is None


def test_templates_are_found_within_one_another() -> None:
    inner, outer = templates_in("{{a|1=x|{{b|[[c|d]]|e = f|g}}|h}}")
    assert (inner.name, inner.parameters) == ("b", {"1": "[[c|d]]", "e": "f", "2": "g"})
    assert (outer.name, outer.parameters) == ("a", {"1": "x", "2": "h"})


def test_a_page_of_templates_alone_is_refused() -> None:
    with pytest.raises(EventPageError, match="no text"):
        read_wikitext("{{Infobox event|date=2 June 2013}}", {})
