"""A tracker of software that nobody described: notes with pages of their own, exports, and logs of every second."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.crawl.crawling import aah
from tests.crawl.site import Reply, Site, html, serving
from tests.crawl.world import crawl, network

CASES = 14
NAMES = ("Ann Lee", "Bob Ray", "Cleo Fox", "Dan Orr", "Eve Sol")
WORDS = [f"{a}{b}" for a in ("mast", "hull", "keel", "sail", "rope", "tide") for b in ("er", "ing", "ed", "s", "less")]
SEED = "http://works.test/"
Changes = Mapping[tuple[int, int], str]
"""What notes say, by case and place, that were written or edited later; empty for one that is gone."""


def said(case: int, place: int) -> str:
    chance = random.Random(100 * case + place)
    return " ".join(f"{' '.join(chance.sample(WORDS, 9)).capitalize()}." for _ in range(4))


def notes(case: int, changes: Changes) -> Sequence[tuple[int, str]]:
    places = dict.fromkeys((*range(3), *(place for number, place in changes if number == case)))
    found = ((place, changes.get((case, place), said(case, place))) for place in places)
    return [(place, text) for place, text in found if text]


def note(case: int, place: int, text: str) -> str:
    number = 10 * case + place
    moment = f"2021-03-{case + 1:02}T10:{10 + place}:00Z"
    return (
        f'<div class="note" id="n{number}"><a class="author" href="/person/{place}">{NAMES[place]}</a> '
        f'<a href="/note/{number}"><time datetime="{moment}">March {case + 1}</time></a>'
        f'<div class="text"><p>{text}</p></div></div>'
    )


def tracker(changes: Changes) -> Mapping[str, Reply]:
    """Return the pages: each case, its export, each note, and a log for each note's moment that names all cases."""
    cases = "".join(f'<li><a href="/case/{n}">Case {n} of the harbour works</a></li>' for n in range(CASES))
    pages = {"/": html("Works", f"<ul>{cases}</ul>")}
    for case in range(CASES):
        shown = notes(case, changes)
        body = "".join(note(case, *each) for each in shown)
        logs = "".join(f'<a href="/log?at=2021-03-{case + 1:02}T10-{10 + place}-00">log</a> ' for place, _ in shown)
        export = f'<a href="/case/{case}?format=csv">Table</a>'
        pages[f"/case/{case}"] = html(
            f"Case {case} of the harbour works", f"<h1>Case {case}</h1>{body}<p>{logs}{export}</p>"
        )
        table = "\r\n".join(("place,text", *(f"{place},{text}" for place, text in shown)))
        pages[f"/case/{case}?format=csv"] = Reply(table.encode(), headers={"Content-Type": "text/csv"})
        for place, text in shown:
            pages[f"/note/{10 * case + place}"] = html(f"Note {place}", note(case, place, text))
            log = html("Log", f"<p>The works on day {case} at {place}</p><ul>{cases}</ul>")
            pages[f"/log?at=2021-03-{case + 1:02}T10-{10 + place}-00"] = log
    return pages


@contextmanager
def served() -> Iterator[Site]:
    with serving(Site()) as site:
        yield site


def asked(folder: Path, site: Site, changes: Changes, **sections: Any) -> Sequence[str]:
    """Crawl the tracker as it is with some changes; return what was asked for, in any order."""
    site.pages, site.asked = dict(tracker(changes)), []
    found = crawl(
        folder, [SEED], network=network(site, "works.test"), politeness={"delay": "0", "robots": "ignore"}, **sections
    )
    assert found.ended.code == 0, found.ended.err
    return sorted(each.path for each in site.asked)


def told(folder: Path, query: str, *arguments: str) -> Sequence[Mapping[str, Mapping[str, str]]]:
    ended = aah("query", folder / "crawl", "--ready", query, "--arg", "limit=1000", "--format", "json", *arguments)
    rows: Sequence[Mapping[str, Mapping[str, str]]] = json.loads(ended.out[ended.out.index("{") :])["results"][
        "bindings"
    ]
    return rows


EDITED, ADDED = said(70, 0), said(71, 0)


def test_a_recrawl_asks_for_the_same_and_tells_the_changes_that_were_made_and_no_others(tmp_path: Path) -> None:
    with served() as site:
        first = asked(tmp_path, site, {})
        assert [path for path in first if path.startswith("/case/") and "?" not in path] == sorted(
            f"/case/{number}" for number in range(CASES)
        )
        assert len(first) <= 2.5 * CASES
        assert asked(tmp_path, site, {}) == first
        assert [*told(tmp_path, "edited-posts"), *told(tmp_path, "deleted-posts")] == []
        changed = asked(tmp_path, site, {(4, 1): EDITED, (6, 3): ADDED, (9, 2): ""})
        again = asked(tmp_path, site, {(4, 1): EDITED, (6, 3): ADDED, (9, 2): ""})
    assert set(first) <= set(changed)
    assert set(changed) - set(first) <= {"/note/63", "/log?at=2021-03-07T10-13-00", "/person/3"}
    assert again == changed
    assert [row["after"]["value"] for row in told(tmp_path, "edited-posts")] == [EDITED]
    assert [row["last"]["value"] for row in told(tmp_path, "deleted-posts")] == [said(9, 2)]
    added = told(tmp_path, "added-posts", "--arg", "from=2", "--arg", "to=3")
    assert len(added) == 1
    assert not told(tmp_path, "added-posts", "--arg", "from=3", "--arg", "to=4")


@pytest.mark.parametrize("allow", [[], ["*/note/*"]])
def test_what_the_definition_names_is_fetched_although_others_show_it(tmp_path: Path, allow: Sequence[str]) -> None:
    with served() as site:
        scope, traps = {"allow": ["http://works.test/*", *allow]}, {"pages": "0", "soft_404": "ignore"}
        fetched = asked(tmp_path, site, {}, scope=scope, traps=traps)
    single = [path for path in fetched if path.startswith("/note/")]
    assert len(single) == 3 * CASES if allow else 1 <= len(single) <= 10


def test_links_that_were_refused_are_followed_once_a_sample_brings_something(tmp_path: Path) -> None:
    names = [f"/doc/{number}" for number in range(100)]
    shown = {
        path: html(f"Works {number}", "".join(note(number % 28, place, said(number, place)) for place in range(3)))
        for number, path in enumerate(names[12:], 12)
    }
    front = html("Works", "".join(f'<p><a href="{path}">Work</a></p>' for path in names))
    with serving(Site({"/": front, **shown})) as site:
        seeds = [f"{site.url.rstrip('/')}{path}" for path in (*names[:12], "/")]
        found = crawl(tmp_path, seeds, traps={"pages": "0", "soft_404": "ignore"})
        assert " links are followed after all" in found.log, found.ended.err
        assert set(shown) <= set(site.paths())
