"""Crawls of made-up software in the folder of a cockpit, by what ships and by the entries that it has saved."""

import os
from pathlib import Path

from knowledge_base.file_selection import OWN_NAME
from tests.crawl.crawling import PATIENCE, running
from tests.crawl.site import Site
from tests.crawl.world import define
from tests.studio.made_up.published import Software, led
from tests.studio.made_up.scored_crawl import Score, scored

_PAGES = 400


def crawled(place: Path, name: str, software: Software, site: Site, **fields: object) -> Score:
    """Crawl a made-up site into ``place/name``, anew where it was crawled before; say how well it was read.

    ``fields`` are further ones of the definition.
    What it is read by is the knowledge base that ships, with the entries of one's own beside the crawls.
    """
    icd = define(
        place.parent / f"{name}-definition",
        [f"http://{software.host}/"],
        id=name,
        title=f"All of {software.host}",
        topic={"keywords": ["printer", "engine", "garden"]},
        limits={"pages": _PAGES, "requisites_per_page": 0},
        scope={"sites": "seeds"},
        network=led(site, software),
        output=str(place / name),
        **fields,
    )
    own = place / OWN_NAME
    folders = ["shipped", str(own)] if (own / "applications").is_dir() else ["shipped"]
    site.asked.clear()
    with running("crawl", icd, environment={**os.environ, "AAH_KNOWLEDGE_BASE": os.pathsep.join(folders)}) as process:
        ended = process.ended(PATIENCE)
    assert ended.code == 0, ended.err
    return scored(place / name, software, site.paths())
