"""The knowledge base of a folder of crawls: every command finds the same one, and says which it was."""

import os
from pathlib import Path

import pytest

from knowledge_base.file_selection import OWN_NAME, VARIABLE
from tests.crawl.board import FIELDS, board, know
from tests.crawl.crawling import rows, running, summary, write_icd
from tests.crawl.site import serving

TITLED = f'{FIELDS}<field name="title"><select css="b"/></field>'


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Crawl a forum that own entries beside the crawl describe, and return the crawl's folder."""
    know(tmp_path / OWN_NAME)
    with serving(board()) as site:
        write_icd(tmp_path, site.url)
        aah("crawl", tmp_path / "icd.yaml")
    return tmp_path / "crawl"


def aah(*arguments: str | Path, named: str = "", code: int = 0) -> str:
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    with running(*arguments, environment={**environment, **({VARIABLE: named} if named else {})}) as process:
        ended = process.ended()
    assert ended.code == code, ended.err
    return ended.out


def titles(crawl: Path) -> set[str | None]:
    return {row["title"] for row in rows(crawl, "objects")}


def test_own_entries_beside_a_crawl_count_for_every_command(crawl: Path) -> None:
    assert titles(crawl) == {None}
    used = summary(crawl)["knowledge_base"]
    assert used["folders"] == ["shipped", str(crawl.parent / OWN_NAME)]
    assert used["digest"] in (crawl / "report.html").read_text("utf-8")
    know(crawl.parent / OWN_NAME, TITLED)
    tried = aah("kb", "try", crawl, code=1)
    assert "title" in tried
    aah("reread", crawl)
    assert None not in titles(crawl)


def test_a_named_folder_is_stronger_than_own_entries(crawl: Path) -> None:
    named = know(crawl.parent / "named", TITLED)
    aah("reread", crawl, named=f"shipped{os.pathsep}{named}")
    assert None not in titles(crawl)
    aah("reread", crawl)
    assert titles(crawl) == {None}


def test_a_folder_that_an_option_names_is_taken_alone(crawl: Path) -> None:
    named = know(crawl.parent / "named")
    know(crawl.parent / OWN_NAME, TITLED)
    aah("kb", "try", crawl, "--kb", f"shipped{os.pathsep}{named}")
