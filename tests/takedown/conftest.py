"""A crawl of a site of which two URLs show the same page, and copies of its folder."""

import shutil
from pathlib import Path

import pytest

from tests.crawl.crawling import aah
from tests.crawl.site import Site, html, links, serving
from tests.crawl.world import crawl
from tests.takedown.floods import ARTICLE, WORD, picture


@pytest.fixture(scope="package")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Crawl a site of which two URLs show the same page, and return the crawl's folder."""
    said = "The dike broke in the flood, and the storm surge took the harbour."
    twin = html("Twin floods", f"<p>{said} Both of these say so.</p>")
    pages = {
        "/1": html("Flood 1", f"<p>{said} One.</p><img src='/both.gif'>"),
        "/2": html("Flood 2", f"{ARTICLE}<p>{said} {WORD}.</p><img src='/both.gif'><img src='/only.gif'>"),
        "/old/3": html("Flood 3", f"<p>{said} Three.</p>" + links("/old/4")),
        "/old/4": html("Flood 4", f"<p>{said} Four.</p>"),
        "/twin": twin,
        "/twin2": twin,
        "/both.gif": picture("both"),
        "/only.gif": picture("only"),
    }
    front = html("Floods", links("/1", "/2", "/old/3", "/twin", "/twin2") + "<p>All floods of the harbour.</p>")
    folder = tmp_path_factory.mktemp("takedown")
    with serving(Site({"/": front, **pages})) as site:
        network = {"allow_private": ["127.0.0.0/8"], "resolve": {"flood.test": f"127.0.0.1:{site.port}"}}
        traps = {"pages": "0", "duplicates": "follow", "soft_404": "ignore"}
        done = crawl(folder, ["http://flood.test/"], network=network, traps=traps)
    assert done.ended.code == 0, done.ended.err
    assert aah("report", done.folder).code == 0
    return done.folder


@pytest.fixture
def folder(crawled: Path, tmp_path: Path) -> Path:
    """Return a copy of that folder."""
    sockets = shutil.ignore_patterns("*.sock")
    return Path(shutil.copytree(crawled, tmp_path / "crawl", ignore=sockets))
