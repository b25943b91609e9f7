"""Worlds for simulated crawls: manuals with their sections, filled software, topics by lot, and their files."""

import json
from pathlib import Path
from random import Random

import lxml.html
import pytest

from benchmarks.worlds import world_files as topic_lot
from benchmarks.worlds.boards import forums
from benchmarks.worlds.handbooks import manual
from benchmarks.worlds.prose import ArchivedPage, ArchivedResponse, Redirection, Sense, Subject, subjects
from benchmarks.worlds.weblogs import weblogs
from benchmarks.worlds.world_files import LotError, drawn, write_labels, write_responses
from offline.simulation import cosine_judge, label_judge

NOUNS = """  a line of a licence
00000001 03 n 01 plant 0 002 ~ 00000002 n 0000 ~ 00000003 n 0000 | a living thing
00000002 03 n 02 tree 0 oak_tree 0 001 @ 00000001 n 0000 | a tall plant; "the trees rustled"
00000003 03 n 01 herb 0 001 @ 00000001 n 0000 | a small plant
"""


def subject(name: str, words: int = 60) -> Subject:
    senses = (Sense(str(n), 3, (f"{name}{n}",), f"a {name} of the {n}th kind", (), ()) for n in range(words))
    return Subject(name, 3, tuple(senses))


SUBJECTS = [subject(name) for name in ("tree", "boat", "coin", "song", "cloud", "bread", "horse", "lamp")]


def pages(responses: list[ArchivedResponse]) -> dict[str, ArchivedPage]:
    return {each.url: each for each in responses if isinstance(each, ArchivedPage)}


def linked(page: ArchivedPage) -> set[str]:
    tree = lxml.html.document_fromstring(page.body, base_url=page.url)
    tree.make_links_absolute()
    return {link.partition("#")[0] for _, _, link, _ in tree.iterlinks()}


def test_sections_are_the_pages_above_and_the_folders(tmp_path: Path) -> None:
    folder = tmp_path / "doc" / "en"
    folder.mkdir(parents=True)
    up = '<link rel="up" href="{}"><p>text</p>'
    written = {"index": "<p>start</p>", "part": up.format("index.html"), "page": up.format("part.html")}
    for name, text in {**written, "other": "<p>other</p>", "last": "<p>last</p>"}.items():
        (folder / f"{name}.html").write_text(f"<html><body>{text}</body></html>")
    found = list(manual("m.test", tmp_path))
    assert pages(found)["https://m.test/doc/en/page.html"].labels == (
        *("m.test/doc/en/part.html", "m.test/doc/en/index.html"),
    )
    assert Redirection("https://m.test/doc/en/", "https://m.test/doc/en/index.html") in found


def test_translations_and_pages_of_other_languages_are_left_out(tmp_path: Path) -> None:
    for path, language in (("en/a", "en"), ("de/a", "en"), ("en/b", "fr"), ("io/a", "en")):
        file = tmp_path / "doc" / f"{path}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'<html lang="{language}"><p>text</p></html>')
    assert set(pages(list(manual("m.test", tmp_path)))) == {"https://m.test/doc/en/a.html"}


def test_subjects_are_branches_of_word_senses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data.noun").write_text(NOUNS)
    monkeypatch.setattr("benchmarks.worlds.prose._SENSES", (3, 9))
    (found,) = subjects(tmp_path, 5, Random(1))
    assert found.name == "plant"
    assert {sense.words for sense in found.senses} == {("plant",), ("tree", "oak tree"), ("herb",)}
    assert [sense.broader for sense in found.senses] == [(), ("00000001",), ("00000001",)]


@pytest.mark.slow
@pytest.mark.parametrize("fill", [forums, weblogs])
def test_filled_software_links_to_pages_that_are_there_and_is_the_same_each_time(fill: object) -> None:
    assert callable(fill)
    found = pages(list(fill(SUBJECTS, 12, Random("seed"))))
    assert found == pages(list(fill(SUBJECTS, 12, Random("seed"))))
    sites = {url.split("/")[2] for url in found}
    targets = {link for page in found.values() for link in linked(page) if link.split("/")[2] in sites}
    assert targets <= set(found)
    reached, waiting = set(), [f"https://{site}/" for site in sites]
    while waiting:
        url = waiting.pop()
        if url not in reached:
            reached.add(url)
            waiting.extend(linked(found[url]) & set(found))
    assert {url for url, page in found.items() if page.labels} <= reached


def test_topics_are_labels_by_lot_with_seeds_that_have_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_lot, "_MIN_URLS", 25)
    monkeypatch.setattr(topic_lot, "_MAX_SHARE", 0.5)
    monkeypatch.setattr(topic_lot, "_RELEVANT", (1, 1.0))
    monkeypatch.setattr(topic_lot, "TOPICS", 2)
    responses = [
        ArchivedPage(f"https://{name}.test/{n}", f"<p>{name} page, {name} again</p>".encode(), (name,))
        for name in ("tree", "boat", "coin")
        for n in range(30)
    ]
    labels = write_responses(tmp_path, "small", responses)
    write_labels(tmp_path, labels)
    topics = drawn(tmp_path, labels, Random(1))
    assert len(topics) == 2
    for label, samples in topics.items():
        assert len(samples) == topic_lot.SAMPLES
        assert all(len(set(seeds)) == topic_lot.SEEDS for seeds in samples)
        assert all(labels[seed] == (label,) for seeds in samples for seed in seeds)
    assert json.dumps(topics) == json.dumps(drawn(tmp_path, labels, Random(1)))


def test_a_world_of_one_subject_makes_no_topics(tmp_path: Path) -> None:
    labels = write_responses(tmp_path, "small", [ArchivedPage("https://a.test/", b"<p>alone</p>", ("a",))])
    with pytest.raises(LotError, match="0 labels"):
        drawn(tmp_path, labels, Random(1))


def test_both_judges_read_what_was_written(tmp_path: Path) -> None:
    page = ArchivedPage("https://a.test/doc/x.html", b"<p>solar power</p>", ("narrow", "wide"))
    write_labels(tmp_path, write_responses(tmp_path, "w", [page, Redirection("https://a.test/doc/", page.url), page]))
    numbers, counts, _ = cosine_judge.read_world(str(tmp_path))
    assert len(counts) == 1
    assert numbers[cosine_judge.key("https://a.test/doc/")] == numbers[cosine_judge.key(page.url)]
    _, labels, _ = label_judge.read_world(str(tmp_path))
    assert labels == [{"narrow": 1, "wide": 1}]
    first = (tmp_path / "w.warc.gz").read_bytes()
    write_responses(tmp_path, "w", [page, Redirection("https://a.test/doc/", page.url), page])
    assert (tmp_path / "w.warc.gz").read_bytes() == first
