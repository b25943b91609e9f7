"""Pages of wikis on events as MediaWiki makes them, written for these tests in several languages."""

import json
from datetime import UTC, date, datetime

import pytest

from offline.collections import event_page
from offline.collections.event_page import CitedPage, EventPageError, EventTime, read_event_page


def page(
    infobox: str = "", body: str = "<p>The dam broke.</p>", language: str = "en", title: str = "A dam break"
) -> bytes:
    return f"""<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{title} - Encyclopedia</title>
<link rel="canonical" href="https://{language}.wikipedia.org/wiki/A_dam_break">
<script>RLCONF={{"wgRevisionId":706012350,"wgTitle":"x"}}</script></head><body><h1 id="firstHeading">{title}</h1>
<div id="mw-content-text"><div class="mw-parser-output" lang="{language}">
<table class="infobox vevent">{infobox}</table>{body}</div></div></body></html>""".encode()


def time_of(infobox: str, language: str = "en") -> EventTime | None:
    return read_event_page(page(infobox, language=language)).time


def moment(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


@pytest.mark.parametrize(
    ("language", "name", "value", "first", "last"),
    [
        ("en", "Date", "December 2, 2015", date(2015, 12, 2), date(2015, 12, 2)),
        ("en", "Date", "2–4 June 2013", date(2013, 6, 2), date(2013, 6, 4)),
        ("en", "Date", "May 30 – June 25, 2013", date(2013, 5, 30), date(2013, 6, 25)),
        ("en", "Dates", "27 July 2012 – 12 August 2012", date(2012, 7, 27), date(2012, 8, 12)),
        ("en", "Date", "December 30, 2015 – January 2, 2016", date(2015, 12, 30), date(2016, 1, 2)),
        ("de", "Datum", "2. Juni 2013", date(2013, 6, 2), date(2013, 6, 2)),
        ("de", "Zeitraum", "30. Mai bis 25. Juni 2013", date(2013, 5, 30), date(2013, 6, 25)),
        ("fr", "Date", "du 2 au 4 juin 2013", date(2013, 6, 2), date(2013, 6, 4)),
        ("es", "Fecha", "2 de diciembre de 2015", date(2015, 12, 2), date(2015, 12, 2)),
        ("ru", "Дата", "2 декабря 2015 года", date(2015, 12, 2), date(2015, 12, 2)),
        ("pl", "Data", "13 listopada 2015", date(2015, 11, 13), date(2015, 11, 13)),
        ("nl", "Datum", "9 juni – 9 juli 2006", date(2006, 6, 9), date(2006, 7, 9)),
        ("ja", "日付", "2013年6月2日", date(2013, 6, 2), date(2013, 6, 2)),
    ],
)
def test_the_date_of_an_event_is_read_in_words(language: str, name: str, value: str, first: date, last: date) -> None:
    found = time_of(
        f"<tr><th>Place</th><td>Dam 3, 1 May 1999</td></tr><tr><th>{name}</th><td>{value}</td></tr>", language
    )
    assert found is not None
    assert (found.start, found.end) == (
        moment(*first.timetuple()[:3], 0, 0, 1),
        moment(*last.timetuple()[:3], 23, 59, 59),
    )
    assert (found.source, found.timed) == (f"the infobox, {name!r}", False)


def test_microformats_come_before_words() -> None:
    start = '<span style="display:none">(<span class="bday dtstart published updated">2013-06-02</span>)</span>'
    row = "<tr><th>Date</th><td>2 June 2013{} – 4 June 2013{}</td></tr>"
    assert time_of(row.format(start, "")) == EventTime(
        moment(2013, 6, 2, 0, 0, 1), moment(2013, 6, 2, 23, 59, 59), "the infobox (dtstart)"
    )
    both = row.format(start, '<abbr class="dtend" title="2013-06-04"></abbr>')
    assert time_of(both) == EventTime(
        moment(2013, 6, 2, 0, 0, 1), moment(2013, 6, 4, 23, 59, 59), "the infobox (dtstart)"
    )


def test_time_elements_and_times_of_day_are_read() -> None:
    days = '<time datetime="2015-11-13">13 novembre</time> – <time datetime="2015-11-14">14</time>'
    french = f"<tr><th>Date</th><td>{days}</td></tr>"
    found = time_of(french, "fr")
    assert found is not None
    assert (found.start.date(), found.end.date()) == (date(2015, 11, 13), date(2015, 11, 14))
    row = "<tr><th>Date</th><td>December 2, 2015</td></tr><tr><th>Time</th><td>{}</td></tr>"
    timed = time_of(row.format("10:59 am – 3:09 pm PST (UTC−8)"))
    assert timed is not None
    assert (timed.start, timed.timed) == (moment(2015, 12, 2, 18, 59), True)
    assert timed.end == moment(2015, 12, 2, 23, 59, 59)
    local = time_of(row.format("10:59 am"))  # Nobody says how far from UTC.
    assert local is not None
    assert (local.start, local.timed) == (moment(2015, 12, 2, 0, 0, 1), False)


@pytest.mark.parametrize(
    "infobox",
    [
        "",
        "<tr><th>Date</th><td>June 2013</td></tr>",
        "<tr><th>Date</th><td>31 February 2013</td></tr>",
        "<tr><th>Born</th><td>2 June 1960</td></tr>",
        '<tr><th>Date</th><td><span class="dtstart">2013-99-99</span></td></tr>',
        "<tr><th>Date</th></tr>",
    ],
)
def test_what_names_no_day_is_no_date(infobox: str) -> None:
    assert time_of(infobox) is None


CITED = """<p>It broke.<sup class="reference">[1]</sup> See <a class="external" href="https://aside.example.org/">this</a>.</p>
<ol class="references">
<li><cite class="citation news">Ann Berg (June 3, 2013). <a class="external text"
href="https://news.example.org/dam?b=1#top">"Dam"</a>. <a class="external text"
href="https://web.archive.org/web/20130605101500/https://news.example.org/dam?b=1">Archived</a> from the
original on June 5, 2013. <span class="reference-accessdate">Retrieved June 9, 2013</span>.</cite><span class="Z3988"
title="ctx_ver=Z39.88-2004&amp;rft.btitle=Dam&amp;rft.date=2013-06-03"></span></li>
<li><a class="external text"
href="https://web.archive.org/web/20140101000000id_/http:/gone.example.net/a">Gone</a>, retrieved June 4, 2013</li>
<li><cite lang="es"><a class="external" href="https://es.example.org/presa">Presa</a>, 4 June 2013</cite></li>
<li><cite><a class="external" href="https://tr.example.org/baraj">Baraj</a> (in Turkish)</cite></li>
<li><cite><a class="external" href="//docs.example.org/report.pdf">Report</a> (PDF)</cite></li>
<li><cite><a class="external" href="https://news.example.org/dam?b=1">again</a></cite> <a href="/wiki/Dam">Dam</a></li>
<li><cite><a class="external" href="https://commons.wikimedia.org/wiki/File:Dam.jpg">Picture</a></cite></li>
<li><cite><a class="external" href="http://[broken">Broken</a></cite></li>
</ol><div class="navbox"><a class="external" href="https://nav.example.org/">n</a></div>"""


def test_references_are_read_with_their_dates_and_without_archives_around_them() -> None:
    found = read_event_page(page(body=CITED))
    assert found.is_cited
    assert found.references == (
        CitedPage("https://news.example.org/dam?b=1", date(2013, 6, 3), moment(2013, 6, 5, 10, 15)),
        CitedPage("http://gone.example.net/a", None, moment(2014, 1, 1)),
        CitedPage("https://es.example.org/presa", date(2013, 6, 4), None, "in es"),
        CitedPage("https://tr.example.org/baraj", None, None, "in Turkish"),
        CitedPage("https://docs.example.org/report.pdf", None, None, "application/pdf"),
    )


def test_a_page_without_a_list_of_references_has_its_links_to_other_sites() -> None:
    found = read_event_page(page(body='<ul><li><a href="https://a.example.org/x">x</a></li></ul>'))
    assert ([each.url for each in found.references], found.is_cited) == (["https://a.example.org/x"], False)


def test_the_text_is_that_of_the_article_alone() -> None:
    found = read_event_page(
        page("<tr><th>Date</th><td>2 June 2013</td></tr>", f"{CITED}<h2>After</h2><p>It was rebuilt.</p>")
    )
    assert found.text.split("\n") == ["It broke. See this.", "After", "It was rebuilt."]
    assert (found.title, found.language, found.revision) == ("A dam break", "en", 706012350)
    assert found.url == "https://en.wikipedia.org/wiki/A_dam_break"


@pytest.mark.parametrize("version", [1, 2])
def test_answers_of_the_api_are_read_as_the_page_is(version: int) -> None:
    markup = (
        page("<tr><th>Date</th><td>2 June 2013</td></tr>", CITED).decode().partition('<div id="mw-content-text">')[2]
    )
    parsed = {"title": "A dam break", "revid": 12, "text": {"*": markup} if version == 1 else markup}
    found = read_event_page(json.dumps({"parse": parsed}).encode())
    assert (found.title, found.revision, found.language, len(found.references)) == ("A dam break", 12, "en", 5)
    assert found.time is not None


@pytest.mark.parametrize("body", [b"", b"{}", b"<html></html>", b'{"parse": {"text": 5}}', b"{" * 100_000, b"\0\xff"])
def test_what_is_no_page_of_a_wiki_is_refused(body: bytes) -> None:
    with pytest.raises(EventPageError):
        read_event_page(body)


def test_large_and_broken_pages_take_bounded_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert time_of(("<tr><th>Date</th><td>" + "2 - June " * 2_000 + "</td></tr>") * 100) is None
    monkeypatch.setattr(event_page, "MAX_REFERENCES", 20)
    links = "".join(f'<li><cite><a href="https://a.example.org/{n}">{n}</a></cite>' for n in range(30))
    never_closed = "".join(f'<span class=x><cite><a href="https://b.example.org/{n}">{n}</a>' for n in range(300))
    found = read_event_page(page(body=f'<p>It broke.</p><ol class="references">{links}<li>{never_closed}'))
    assert [each.url for each in found.references] == [f"https://a.example.org/{n}" for n in range(20)]
