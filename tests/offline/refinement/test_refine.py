"""A reference crawl proposes words, names and seeds, which a definition takes over once they are reviewed."""

from pathlib import Path

import pytest

from online_analysis.icd import Icd
from tests.crawl.articles import english
from tests.crawl.crawling import aah
from tests.crawl.site import Site, links, serving
from tests.crawl.world import crawl, define

pytestmark = pytest.mark.starts


def page(number: int, *, about_floods: bool) -> str:
    if about_floods:
        return (
            f"The flood of year {number} broke the dike at the harbour. Behind it the polder drowned, and the polder "
            f'board asked the engineer Cornelis Lely for help. See <a href="http://water.test/{number % 2}">this</a>.'
        )
    return (
        f"For recipe {number} take flour, butter and sugar, as the cook Julia Child did, and bake the cake slowly. "
        f'The oven must be hot. More is at <a href="http://cakes.test/">cakes</a>.'
    )


def world() -> Site:
    """Return a site with as many pages about floods as about baking, which are linked from each of them."""
    site = Site()
    paths = [f"/{number}.html" for number in range(24)]
    for number, path in enumerate(paths):
        text = page(number, about_floods=number % 2 == 0)
        near = links(*(paths[(number + step) % len(paths)] for step in (1, 2, 3)))
        site.pages[path] = english(
            f"Page {number}", f"<main><h1>Page {number}</h1><p>{text}</p></main><nav>{near}</nav>"
        )
    site.pages["/"] = english("All", links(*paths))
    return site


def test_a_reference_crawl_proposes_what_its_relevant_pages_have_in_common(tmp_path: Path) -> None:
    with serving(world()) as site:
        seed = f"{site.url}0.html"
        crawled = crawl(tmp_path, [seed], topic={"keywords": ["flood", "dike"]}, scoring={"relevant": 0.15})
        assert crawled.ended.code == 0, crawled.ended.err
    icd, review = tmp_path / "icd.yaml", tmp_path / "icd.review.yaml"
    ended = aah("icd", "refine", icd)
    assert ended.code == 0, ended.err
    written = review.read_text("utf-8")
    proposed = {line.split("  #")[0].strip() for line in written.splitlines() if line.startswith("  - ")}
    assert {"- polder", "- Cornelis Lely", "- http://water.test/0"} <= proposed
    assert not any("cake" in line.lower() or "Julia" in line for line in proposed)
    assert "of 12 relevant pages" in written

    again = aah("icd", "refine", icd)
    assert (again.code, "may have been reviewed" in again.err) == (2, True)
    review.write_text("".join(line for line in written.splitlines(keepends=True) if "water.test" not in line), "utf-8")
    merged = aah("icd", "merge", icd, review)
    assert merged.code == 0, merged.err
    assert "Cornelis Lely" in merged.out
    definition = Icd.load(icd)
    assert "polder" in definition.topic.keywords
    assert definition.topic.entities == ("Cornelis Lely",)
    assert definition.seeds == (seed,)


def test_a_folder_without_a_crawl_is_refused(tmp_path: Path) -> None:
    icd = define(tmp_path, ["http://a.test/"])
    ended = aah("icd", "refine", icd)
    assert (ended.code, "Traceback" in ended.err) == (2, False)
    assert str(tmp_path) in ended.err
