"""Takedowns of pages that a browser was shown: nothing that it made of them stays."""

import gzip
from contextlib import closing
from pathlib import Path

from aahcrawler.archive.checking import Tally, check
from aahcrawler.archive.history import History
from aahcrawler.takedown.removal import WantedRemoval, plan, remove
from tests.archive.test_rendered_pages import SHELL, Known, made, shell

URL, OTHER = "http://forum.test/thread?id=1", "http://forum.test/other"


def test_what_a_browser_made_of_a_page_goes_with_it(tmp_path: Path) -> None:
    with closing(Known(tmp_path)) as known:
        known.write(shell(), made(dom=b"<p>Wertheimstein"))
        known.write(shell(OTHER), made(OTHER, b"<p>other"))
    selected, _ = plan(tmp_path, WantedRemoval(urls=(URL,)))
    assert (list(selected.captures.values()), len(selected.promoted)) == ([URL], 1)
    remove(tmp_path, WantedRemoval(urls=(URL,)), "Ida", "she asked for it")
    whole = b"".join(gzip.decompress(path.read_bytes()) for path in (tmp_path / "archive").glob("*.gz"))
    assert b"Wertheimstein" not in whole
    # The shell was its record; the other page, which is the same, has it now.
    assert whole.count(SHELL) == 1
    index = (tmp_path / "indexes" / "index.cdxj").read_text()
    assert [line.split()[0] for line in index.splitlines()] == [
        "test,forum)/other",
        f"urn:dom:{OTHER}",
        f"urn:thumbnail:{OTHER}",
        f"urn:view:{OTHER}",
    ]
    with closing(History(tmp_path / "archive", tmp_path / "indexes")) as history:
        assert history.former(URL) is None
        former = history.former(OTHER)
        assert former is not None
        rendered = history.rendered(former)
        assert rendered is not None
        assert rendered.dom == b"<p>other"
    assert [finding for finding in check(tmp_path, Tally()) if not finding.is_note] == []
