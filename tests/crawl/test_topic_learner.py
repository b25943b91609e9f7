"""A crawl whose first pages teach it what its topic is about, over a world of some forty pages on a loopback site."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aahcrawler.layout import TOPIC_NOTES
from tests.crawl.crawling import aah, rows
from tests.crawl.site import Answer, Reply, Site, html, links, serving
from tests.crawl.world import Crawled, crawl, define, network
from tests.online_analysis.topical_world import KEYWORDS, naming, other, speaking

HOSTS = ("a.test", "b.test", "c.test")
REFERENCE = 11
FIRST = [f"http://{HOSTS[i % 3]}/naming/{i}" for i in range(9)] + [
    f"http://{HOSTS[i % 3]}/other/{i}" for i in range(16)
]
SPEAKING = [f"http://{HOSTS[i % 3]}/speaking/{i}" for i in range(6)]
DECOYS = [f"http://{HOSTS[i % 3]}/decoy/{i}" for i in range(12)]


def page(text: list[str], more: str = "") -> Reply:
    return html("A page", f"<article><h1>A page</h1>{''.join(f'<p>{each}</p>' for each in text)}</article>{more}")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """Serve a seed that leads to pages of both kinds, and to a list of pages that only speak the topic's language."""
    pages: dict[str, Answer] = {"//a.test/": page([*naming(0), *naming(1)], links(*FIRST, "http://a.test/list"))}
    pages |= {f"//{url.removeprefix('http://')}": page(naming(i)) for i, url in enumerate(FIRST[:9])}
    pages |= {f"//{url.removeprefix('http://')}": page(other(i)) for i, url in enumerate(FIRST[9:])}
    items = [f'<p><a href="{url}">The yield of a rooftop with an inverter</a></p>' for url in SPEAKING]
    items += [f'<p><a href="{url}">The ferry that leaves at noon</a></p>' for url in DECOYS]
    pages["//a.test/list"] = html("A list", f"<article><h1>A list</h1>{''.join(items[::-1])}</article>")
    pages |= {f"//{url.removeprefix('http://')}": page(speaking(i)) for i, url in enumerate(SPEAKING)}
    pages |= {f"//{url.removeprefix('http://')}": page(other(i)) for i, url in enumerate(DECOYS)}
    with serving(Site(pages)) as served:
        yield served


def sections(site: Site, reference_crawl: int = REFERENCE, pages: int = 33) -> dict[str, Any]:
    return {
        "seeds": ["http://a.test/"],
        "topic": {"keywords": list(KEYWORDS), "reference_crawl": reference_crawl},
        "scope": {"sites": "anywhere"},
        "scoring": {"weights": {"text": 1, "ranker": 0, "url": 0}, "explore": 0},
        "limits": {"pages": pages, "requisite_bytes": 0},
        "network": network(site, *HOSTS),
    }


def learned(folder: Path) -> dict[str, Any]:
    said: dict[str, Any] = json.loads((folder / "topic.json").read_text("utf-8"))["learned"]
    return said


def found(folder: Path) -> dict[str, bool]:
    return {row["url"]: bool(row["relevant"]) for row in rows(folder)}


@pytest.fixture(scope="module")
def plain(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return crawl(tmp_path_factory.mktemp("plain"), **sections(site, 0))


@pytest.fixture(scope="module")
def taught(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """Crawl with a reference crawl that is stopped halfway, with a note that was torn then, and goes on."""
    folder = tmp_path_factory.mktemp("taught")
    cut = crawl(folder, **sections(site, pages=8))
    assert not (cut.folder / "topic.json").exists()
    with (cut.folder / TOPIC_NOTES).open("a", encoding="utf-8") as file:
        file.write('{"url": "http://a.test/to')
    return Crawled(aah("crawl", define(folder, **sections(site)), "--accept-changes"), cut.folder)


def test_a_refined_topic_finds_pages_that_the_keywords_miss(plain: Crawled, taught: Crawled) -> None:
    assert plain.ended.code == taught.ended.code == 0, taught.ended.err
    assert not any(found(plain.folder).get(url) for url in SPEAKING)
    assert sum(found(taught.folder).get(url, False) for url in SPEAKING) >= 4
    assert not any(found(taught.folder).get(url) for url in DECOYS)
    assert not (plain.folder / "topic.json").exists()
    assert not (plain.folder / TOPIC_NOTES).exists()


def test_log_file_and_report_say_what_was_learned(taught: Crawled) -> None:
    (said,) = [line for line in taught.log.splitlines() if "the topic is refined" in line]
    refinement = learned(taught.folder)["refinement"]
    assert (refinement["outcome"], refinement["pages"]) == ("taken", REFERENCE)
    assert "inverter (1.00)" in said
    assert {"inverter", "rooftop", "modules"} <= refinement["terms"].keys()
    assert not {"solar", "power"} & refinement["terms"].keys()
    assert all(0 < weight <= 1 for weight in refinement["terms"].values())
    report = (taught.folder / "report.html").read_text("utf-8")
    assert "Learned terms of the topic" in report
    assert "rooftop" in report


@pytest.mark.usefixtures("site")
def test_the_next_crawl_keeps_what_was_learned(taught: Crawled) -> None:
    before = learned(taught.folder)
    again = aah("crawl", taught.folder.parent / "icd.yaml")
    assert again.code == 0, again.err
    assert "begun anew" in taught.log
    assert "reference crawl" not in taught.log
    assert not (taught.folder / TOPIC_NOTES).exists()
    assert learned(taught.folder) == before == learned(taught.folder / "former" / "1")
    assert {row["score"] for row in rows(taught.folder) if row["url"] == SPEAKING[0]} != {0.0}
