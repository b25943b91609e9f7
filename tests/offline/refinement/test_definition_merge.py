"""Reviewed values are added to the file of a definition, and nothing else in it changes."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from offline.refinement.proposals import RefinementError, merge, read_review, replace_file, scalar
from online_analysis.icd import Icd, IcdError

HEAD = "id: floods  # a name\ncontact: a@example.org\n"
SEEDS = "seeds: [https://a.test/]\n"
NEW = {"keywords": ["storm surge", "dam: break"], "entities": ["Ada Lovelace"], "seeds": ["https://b.test/x?y=1,2"]}


def definition(folder: Path, text: str) -> Path:
    path = folder / "floods.yaml"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}{SEEDS}topic:\n  keywords: [flood]  # more to come\n",
        f"{HEAD}{SEEDS}topic:\n  keywords: [flood, # the main one\n    dike\n    ]\n  documents: []\n",
        f"{HEAD}{SEEDS}topic:\n  keywords: [flood,]\n",
        f"{HEAD}{SEEDS}topic:\n    keywords:\n    - flood # one\n\n    # names\n    entities:\n      - 'Bob, the'\n",
        f"{HEAD}{SEEDS}topic: {{keywords: [flood]}}\n",
        f"{HEAD}topic:\n  entities: [Noah]\n  keywords:   # none yet\nseeds:\n- https://a.test/",
        f"{HEAD}topic:\n  entities:\n    - Noah\n  keywords: ~\nseeds:\n  - https://a.test/   # alone\n",
        f"{HEAD}topic:\n  keywords:\n    - flood\nseeds:\n  - https://a.test/\n".replace("\n", "\r\n"),
        f"\ufeff---\n{HEAD}{SEEDS}\ntopic:\n  # words\n  keywords:\n    - flood\n",
    ],
)
def test_values_are_added_and_all_else_stays(tmp_path: Path, text: str) -> None:
    path = definition(tmp_path, text)
    before = Icd.load(path)
    merged = merge(path, NEW)
    replace_file(path, merged.content)
    after = Icd.load(path)
    assert after.topic.keywords == (*before.topic.keywords, *NEW["keywords"])
    assert after.topic.entities == (*before.topic.entities, *NEW["entities"])
    assert after.seeds == (*before.seeds, *NEW["seeds"])
    comments = [line.partition("#")[2] for line in text.splitlines() if "#" in line]
    assert all(comment in path.read_bytes().decode() for comment in comments)
    assert merge(path, NEW).added == {}
    assert merge(path, NEW).content == path.read_bytes()


def test_lines_that_nobody_asked_for_keep_their_bytes(tmp_path: Path) -> None:
    text = (
        f"{HEAD}{SEEDS}topic:\n      keywords:\n        -   'flood'\n        -   \"dike\"\nlimits:   {{pages:    9}}\n"
    )
    merged = merge(definition(tmp_path, text), {"keywords": ["polder"]}).content.decode()
    assert merged == text.replace('"dike"\n', '"dike"\n        - polder\n')


def test_what_the_definition_has_is_not_added_again(tmp_path: Path) -> None:
    path = definition(tmp_path, f"{HEAD}{SEEDS}topic:\n  keywords: [Storm Surge]\n")
    assert merge(path, {"keywords": ["storm surge", "polder", "polder"]}).added == {"keywords": ["polder"]}


def test_a_value_that_makes_a_definition_wrong_is_refused_and_the_file_stays(tmp_path: Path) -> None:
    path = definition(tmp_path, f"{HEAD}{SEEDS}topic: {{keywords: [flood]}}\n")
    with pytest.raises(IcdError, match="seeds"):
        merge(path, {"seeds": ["no URL"]})


def test_a_list_that_stands_in_several_places_is_left_to_people(tmp_path: Path) -> None:
    text = f"{HEAD}{SEEDS}topic:\n  keywords: &words [flood]\n  entities: *words\n"
    path = definition(tmp_path, text)
    with pytest.raises((RefinementError, IcdError)):
        merge(path, {"keywords": ["dike"]})
    assert path.read_text("utf-8") == text


@given(st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1))
def test_a_scalar_is_read_back_as_it_was(text: str) -> None:

    assert yaml.safe_load(f"- {scalar(text)}  # about it") == [text]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("keywords: [a", "is no YAML"),
        ("- a\n", "holds none of"),
        ("words: [a]\n", "words is no field"),
        ("keywords: a\n", "is no list of texts"),
        ("seeds:\n  - {a: b}\n", "is no list of texts"),
    ],
)
def test_a_review_that_cannot_be_read_says_what_is_wrong(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "review.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(RefinementError, match=complaint):
        read_review(path)
    with pytest.raises(RefinementError, match="cannot be read"):
        read_review(tmp_path / "none.yaml")


def test_what_is_deleted_from_a_review_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "review.yaml"
    path.write_text("keywords:\n  - no  # weight 1\n  - storm   surge\nentities:\nseeds: []\n", "utf-8")
    assert read_review(path) == {"keywords": ["no", "storm surge"], "entities": (), "seeds": []}
