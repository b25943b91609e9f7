"""What is like a page or an object: by the vectors of texts where there are any, else by terms."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.derived_index import transaction
from aahcrawler.layout import INDEXES, VECTORS
from aahcrawler.search import QueryError
from aahcrawler.search.likeness import KeptVector, TextVectors
from aahcrawler.search.search_entry import number_of, object_thing
from tests.search.archives import SITE, found, names, post, running

TEXTS = {
    "one": "The dike near the harbour broke, and the pumps of the harbour failed at once.",
    "two": "Pumps keep the harbour dry, as long as the dike holds.",
    "three": "A choir sang in the old church on Sunday, and everybody came to hear it.",
    "four": "We bake bread on Sunday, and everybody likes it.",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with running(tmp_path) as crawl:
        for name, body in TEXTS.items():
            crawl.page(f"page-{name}", body, [post(name, body)])
    return tmp_path


def keep(folder: Path, vectors: Mapping[str, tuple[float, float]]) -> None:
    with TextVectors(folder) as index, transaction(index.base):
        for name, vector in vectors.items():
            thing = number_of(object_thing(f"{SITE}/#{name}"))
            index.keep([KeptVector(thing, b"", np.array(vector, np.float16).tobytes())])


def test_others_that_share_distinctive_terms_are_like_an_object(folder: Path) -> None:
    told = found(folder, like=f"{SITE}/#one", filters={"kind": ["object"]})
    assert (names(told), told.like_by) == (["two"], "terms")
    assert found(folder, "choir", like=f"{SITE}/#one").total == 0


def test_the_vectors_of_texts_go_before_their_terms(folder: Path) -> None:
    keep(folder, {"one": (1.0, 0.0), "two": (0.0, 1.0), "three": (0.8, 0.6), "four": (0.96, 0.28)})
    told = found(folder, like=f"{SITE}/#one", is_folded=False)
    assert (names(told), told.like_by) == (["four", "three"], "meaning")
    assert [round(hit.score, 2) for hit in told.hits] == [0.96, 0.8]
    assert names(found(folder, "choir", like=f"{SITE}/#one", is_folded=False)) == ["three"]


def test_what_is_like_a_page_is_like_its_objects(folder: Path) -> None:
    keep(folder, {"one": (1.0, 0.0), "four": (0.96, 0.28)})
    told = found(folder, like=f"{SITE}/page-one", is_folded=False)
    assert (names(told), told.like_by) == (["four"], "meaning")


def test_an_object_without_a_vector_is_compared_by_terms(folder: Path) -> None:
    keep(folder, {"four": (0.96, 0.28)})
    assert found(folder, like=f"{SITE}/#one").like_by == "terms"
    (folder / INDEXES / VECTORS).write_bytes(b"no index")
    assert found(folder, like=f"{SITE}/#one").like_by == "terms"


def test_what_nobody_archived_is_told(folder: Path) -> None:
    with pytest.raises(QueryError, match="nothing that is archived has the URL http://other"):
        found(folder, like="http://other.test/")


def test_the_command_names_what_others_are_like(folder: Path) -> None:
    ended = CliRunner().invoke(app, ["search", str(folder), "--like", f"{SITE}/#one"])
    assert ended.exit_code == 0, ended.output
    assert TEXTS["two"][:20] in ended.stdout
    assert "compared by their terms; aah enrich FOLDER --steps related-texts" in ended.stderr
    kept = CliRunner().invoke(app, ["search", str(folder), "--like", f"{SITE}/#one", "--save", "dikes"])
    assert (kept.exit_code, "cannot be kept" in kept.stderr) == (2, True)
