"""Equal fingerprints mean that pages are understood the same way, and nothing else changes them."""

import shutil
from pathlib import Path

import pytest

from aahcrawler.fingerprint import files_digest, fingerprint
from online_analysis.icd import Icd
from tests.crawl.board import FIELDS, know

SAID = "id: t\ncontact: a@b.org\nseeds: [http://a.test/]\ntopic: {keywords: [flood, dike]}\n"


def of(more: str = "", texts: dict[str, str] | None = None, knowledge: str = "known", said: str = SAID) -> str:
    return fingerprint(Icd.parse(f"{said}{more}".encode()), texts or {}, knowledge)


@pytest.mark.parametrize(
    "more",
    [
        "title: Another\n",
        "operator: Somebody\n",
        "limits: {pages: 10}\n",
        "politeness: {delay: 5 s}\n",
        "scope: {depth: 3, deny: [/x]}\n",
        "archive: {size: 2 GB}\n",
        "# a comment\n",
    ],
)
def test_what_scores_do_not_depend_on_changes_nothing(more: str) -> None:
    assert of(more) == of()


@pytest.mark.parametrize(
    "more",
    [
        "scoring: {relevant: 0.5}\n",
        "scoring: {weights: {url: 0.5}}\n",
        "scope: {languages: [en]}\n",
        "event: {start: 2024-05-01, end: 2024-05-31}\n",
    ],
)
def test_what_they_do_depend_on_changes_it(more: str) -> None:
    assert of(more) != of()


def test_so_do_the_versions_of_what_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    before = of()
    monkeypatch.setattr("aahcrawler.fingerprint.versions", lambda _: {"shouting": "shouting 2.0"})
    assert of() != before


def test_so_do_topic_texts_and_knowledge() -> None:
    assert of(said=SAID.replace("dike", "harbour")) != of()
    assert of(said=SAID.replace("flood, dike", "dike, flood")) == of()
    assert of(texts={"http://a.test/about": "The flood."}) not in {of(), of(texts={"http://a.test/about": "A flood."})}
    assert of(knowledge="more") != of()


def test_a_knowledge_base_is_what_its_files_say_wherever_they_lie(tmp_path: Path) -> None:
    here, learned = know(tmp_path / "here"), tmp_path / "learned"
    first = files_digest((here,), learned)
    there = Path(shutil.copytree(here, tmp_path / "there"))
    assert files_digest((there,), learned) == first
    know(there, FIELDS + '<field name="title"><select css="b"/></field>')
    assert files_digest((there,), learned) != first
    know(there)
    assert files_digest((there,), learned) == first
    learned.mkdir()
    (learned / "Tiny Board.xml").write_text("<learned/>")
    assert files_digest((there,), learned) != first
