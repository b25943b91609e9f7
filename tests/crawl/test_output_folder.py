"""What lies in the output folder before a crawl begins, and a disk without room at its start."""

from pathlib import Path

import pytest

from tests.crawl.crawling import aah, running, until
from tests.crawl.site import Reply, Site, html, serving
from tests.crawl.world import define

LIMITED = """
import resource, sys, threading, time
from pathlib import Path
from aahcrawler import cli

go = Path(sys.argv.pop(1))
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))


def lift():
    while not go.exists():
        time.sleep(0.05)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


threading.Thread(target=lift, daemon=True).start()
cli.main()
"""
"""Runs ``aah`` so that no file can be written to until another file is there."""


@pytest.mark.parametrize("name", ["crawl.log", "icd.json.part", ".lock", "frontier/frontier.log"])
def test_files_are_not_opened_through_links(tmp_path: Path, name: str) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious", "utf-8")
    icd = define(tmp_path, ["http://127.0.0.1:1/"])
    link = tmp_path / "crawl" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(precious)
    ended = aah("crawl", icd)
    assert precious.read_text("utf-8") == "precious"
    assert ended.code != 0
    assert name.removesuffix(".part") in ended.err.replace("\n", "")


def test_a_disk_that_is_full_at_the_start_is_waited_for(tmp_path: Path) -> None:
    room = tmp_path / "room"
    with serving(Site({"/robots.txt": Reply(b"", 404), "/": html("Front", "<p>The flood.</p>")})) as site:
        icd = define(tmp_path, [site.url])
        with running(room, "crawl", icd, code=LIMITED) as crawler:
            until(lambda: (tmp_path / "crawl" / ".lock").exists() or not crawler.runs)
            with pytest.raises(AssertionError):
                until(lambda: not crawler.runs, 6.0)
            room.touch()
            ended = crawler.ended()
    assert ended.code == 0, ended.err
    assert "paused: " in ended.err
    assert str(tmp_path / "crawl") in ended.err.replace("\n", "")
    assert site.paths() == ["/"]
