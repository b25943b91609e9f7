"""Strategies that learn during a crawl, in worlds of which one sign alone tells where the relevant pages are."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from knowledge_base.file_selection import named_folders
from offline.simulation.bandits import BATCH, RegressionTree, TagPathGroups, UrlClassifier, grown
from offline.simulation.sample import read_samples
from offline.simulation.simulation import Simulation, Watcher, simulate
from tests.offline.simulated_world import COOKING, SOLAR, Link, page, write_pages, write_topics

PAGES = 60
BUDGET = 40
LEARNING = ("sb-classifier", "tree-bandit")


def url(site: str, number: int, *, telling: bool = False) -> str:
    """Return the URL of a page; with a telling one its path says what the page is about."""
    if telling:
        return f"https://one.test/{site.partition('://')[2]}/{number:02}"
    return f"https://one.test/{(2 * number + (site == SOLAR)) * 37 % 121:03}"


def write_site(folder: Path, anchors: Mapping[str, str], *, telling: bool = False, apart: bool = True) -> Path:
    """Write a site with as many pages about solar power as about cooking, each with links to two of both kinds.

    The links to cooking come first, in a list of their own unless they are not ``apart``.
    """
    folder.mkdir()
    written: dict[str, str | bytes] = {}
    for number in range(PAGES):
        following = [(2 * number + step) % PAGES for step in (1, 2)]
        soup, solar = (
            [(url(site, each, telling=telling), anchors[site]) for each in following] for site in (COOKING, SOLAR)
        )
        for site in (SOLAR, COOKING):
            first = soup if apart else soup + solar
            written[url(site, number, telling=telling)] = _with_list(page(site, 0, first), solar if apart else [])
    write_pages(folder, written)
    write_topics(folder, [[url(SOLAR, number, telling=telling) for number in range(3)]])
    return folder


def _with_list(html: str, links: Sequence[Link]) -> str:
    rows = "".join(f'<p class="next"><a href="{target}">{anchor}</a></p>' for target, anchor in links)
    return html.replace("</main>", f'<div class="further">{rows}</div></main>')


def fetched(world: Path, *names: str, seed: int = 0) -> Mapping[str, Sequence[str]]:
    asked = Simulation(world, names, named_folders(""), pages=BUDGET, seed=seed)
    done = simulate(asked, read_samples(world), Watcher())
    return {order.strategy: [done.urls[number] for number in order.pages] for order in done.orders}


def on_topic(urls: Sequence[str]) -> int:
    """Return how many pages are about solar power."""
    solar = {url(SOLAR, number, telling=telling) for number in range(PAGES) for telling in (False, True)}
    return len(solar.intersection(urls))


SAME = {SOLAR: "more", COOKING: "more"}
MISLEADING = {SOLAR: "soup recipe", COOKING: "more"}


def test_a_bandit_learns_at_which_places_relevant_pages_are_linked(tmp_path: Path) -> None:
    found = fetched(write_site(tmp_path / "world", SAME), "sb-classifier", "tag-path-bandit", "breadth-first")
    assert on_topic(found["breadth-first"]) <= BUDGET * 0.6
    for name in ("sb-classifier", "tag-path-bandit"):
        assert on_topic(found[name][BUDGET // 2 :]) >= BUDGET * 0.4, name


def test_a_classifier_learns_which_urls_are_relevant(tmp_path: Path) -> None:
    world = write_site(tmp_path / "world", SAME, telling=True, apart=False)
    found = fetched(world, "sb-classifier", "tag-path-bandit")
    assert on_topic(found["tag-path-bandit"][BUDGET // 2 :]) <= BUDGET * 0.35, "all links are at one place"
    assert on_topic(found["sb-classifier"][BUDGET // 2 :]) >= BUDGET * 0.45


def test_a_tree_learns_that_anchors_mislead(tmp_path: Path) -> None:
    found = fetched(write_site(tmp_path / "world", MISLEADING), "tree-bandit", "max")
    assert on_topic(found["tree-bandit"][BUDGET // 2 :]) >= BUDGET * 0.45
    assert on_topic(found["max"][BUDGET // 2 :]) <= BUDGET * 0.25


@pytest.mark.parametrize("name", LEARNING)
def test_an_order_is_the_same_each_time_and_has_no_page_twice(tmp_path: Path, name: str) -> None:
    world = write_site(tmp_path / "world", MISLEADING)
    one, again = (fetched(world, name)[name] for _ in range(2))
    assert one == again
    assert len(one) == len(set(one)) == BUDGET


def test_paths_join_the_group_that_is_near_enough() -> None:
    groups = TagPathGroups()
    path = "html/body/div.page/main/div.posts/div.post/h2/a"
    assert groups.group(path) == 0
    assert groups.group(path.replace("h2", "h3")) == 0, "7 of 9 pairs of tags are the same"
    assert groups.group("html/body/div.menu/ul/li/a") == 1
    assert groups.group(path) == 0
    assert groups.group("html/body/div.menu/ul/li.current/a") == 2, "5 of 7 are too few"
    assert len(groups) == 3


def test_a_classifier_knows_nothing_before_it_has_seen_both_kinds() -> None:
    classifier = UrlClassifier()
    changes = [classifier.learn(f"https://a.test/wind/{number}", relevant=True) for number in range(2 * BATCH)]
    assert [number for number, changed in enumerate(changes, 1) if changed] == [BATCH, 2 * BATCH]
    assert classifier.probabilities(["https://a.test/wind/99"]).tolist() == [0.0]
    for number in range(BATCH):
        classifier.learn(f"https://a.test/soup/{number}", relevant=False)
        classifier.learn(f"https://a.test/wind/{number}", relevant=True)
    wind, soup = classifier.probabilities(["https://a.test/wind/99", "https://a.test/soup/99"])
    assert wind > 0.5 > soup
    assert classifier.probabilities([]).tolist() == []


def test_a_tree_splits_where_values_differ_the_most() -> None:
    random = np.random.default_rng(0)
    rows = random.random((200, 3))
    values = np.where(rows[:, 1] > 0.6, 1.0, 0.0) + np.where(rows[:, 2] > 0.5, 0.1, 0.0)
    tree = grown(rows, values, least=5)
    assert tree.splits[0].column == 1
    assert tree.splits[0].threshold == pytest.approx(0.6, abs=0.02)
    leaves = tree.leaves(rows)
    assert len(tree) == 4
    assert all(len(set(values[leaves == leaf])) == 1 for leaf in range(len(tree)))


def test_no_leaf_is_smaller_than_asked_and_equal_values_are_not_split() -> None:
    rows = np.arange(23.0)[:, None]
    counts = np.bincount(grown(rows, rows[:, 0] ** 2, least=5).leaves(rows))
    assert counts.min() >= 5
    assert len(counts) > 1
    assert grown(rows, np.ones(23), least=5) == RegressionTree()
    assert RegressionTree().leaves(rows).tolist() == [0] * 23
