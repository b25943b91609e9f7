from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from aahcrawler.page import Page
from benchmarks.damage import Change, damaged, drafts
from benchmarks.recorded import RecordedSite, recorded_files
from benchmarks.truth import words
from tests.benchmarks import tinysite


@pytest.fixture(name="site", scope="module")
def _site(tmp_path_factory: pytest.TempPathFactory) -> RecordedSite:
    return tinysite.record(tmp_path_factory.mktemp("damage"))


def pages(site: RecordedSite) -> list[Page]:
    return [page for _, page in recorded_files(site)]


def text(page: Page) -> tuple[str, ...]:
    found = page.tree.xpath("//body//text()[not(parent::script)]")
    assert isinstance(found, list)
    return words("\n".join(map(str, found)))


def test_no_steps_leave_every_byte(site: RecordedSite, tmp_path: Path) -> None:
    assert [page.body for page in pages(damaged(site, tmp_path, 0, 1))] == [page.body for page in pages(site)]


def test_the_same_seed_does_the_same(site: RecordedSite, tmp_path: Path) -> None:
    one, other, third = (damaged(site, tmp_path / str(place), 7, seed) for place, seed in enumerate((3, 3, 4)))
    assert [page.body for page in pages(one)] == [page.body for page in pages(other)]
    assert [page.body for page in pages(one)] != [page.body for page in pages(third)]


def test_steps_add_up_and_every_change_comes_once_in_a_round() -> None:
    steps = tuple(islice(drafts(5), 2 * len(Change)))
    assert {step.change for step in steps[: len(Change)]} == set(Change)
    assert {step.change for step in steps[len(Change) :]} == set(Change)
    assert tuple(islice(drafts(5), 3)) == steps[:3]


@pytest.mark.parametrize("seed", range(6))
def test_all_texts_stay_and_those_of_objects_keep_their_order(site: RecordedSite, tmp_path: Path, seed: int) -> None:
    copy = damaged(site, tmp_path, 14, seed)
    for before, after in zip(pages(site), pages(copy), strict=True):
        assert Counter(text(before)) == Counter(text(after))
    told = [" ".join(text(page)) for page in pages(copy)]
    for posts in tinysite.POSTS.values():
        for _, _, _, body in posts:
            assert sum(" ".join(words(body)) in page for page in told) == 1


def test_the_truth_is_as_it_was_and_links_too(site: RecordedSite, tmp_path: Path) -> None:
    copy = damaged(site, tmp_path, 14, 1)
    for name in ("truth.jsonl", "pages.jsonl", "index.jsonl"):
        assert (copy.folder / name).read_bytes() == (site.folder / name).read_bytes()
    for before, after in zip(pages(site), pages(copy), strict=True):
        links = [{a.get("href", "").partition("#")[0] for a in page.tree.iter("a")} for page in (before, after)]
        assert links[0] == links[1]


def test_posts_of_all_pages_change_alike(site: RecordedSite, tmp_path: Path) -> None:
    copy = damaged(site, tmp_path, 7, 2)
    shapes = set()
    for page in pages(copy)[1:]:
        for element in page.tree.iter("time"):
            parent = element.getparent()
            assert parent is not None
            shapes.add((parent.tag, parent.get("class"), parent.get("data-part")))
    assert len(shapes) == 1


def test_seven_steps_leave_nothing_that_the_old_expressions_find(site: RecordedSite, tmp_path: Path) -> None:
    found = 0
    for seed in range(8):
        copy = damaged(site, tmp_path / str(seed), 7, seed)
        nodes = pages(copy)[1].tree.xpath("//div[@class='entry']//*[@class='text']")
        assert isinstance(nodes, list)
        found += bool(nodes)
    assert found <= 2


def test_the_site_itself_is_left_alone(site: RecordedSite, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in site.folder.rglob("*") if path.is_file()}
    damaged(site, tmp_path / "damaged", 5, 1)
    assert {path: path.read_bytes() for path in site.folder.rglob("*") if path.is_file()} == before
