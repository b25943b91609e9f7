"""What annotations say is found by search, and counted."""

import gzip
import re
from pathlib import Path

import pyoxigraph as ox
import pytest

from aahcrawler.layout import ANNOTATIONS, ARCHIVE, INDEXES, NQUADS, SEARCH
from offline.enrichment import entity_annotator
from offline.enrichment.enriching import enrich
from offline.enrichment.steps import EnrichmentStep, chosen_steps
from tests.enrichment.annotators import FREQUENT, WORDS
from tests.enrichment.archives import LONG, define, write_posts
from tests.search.archives import found, names

TEXTS = [
    [("ann", f"We met Dr Ida Berg at the dike. {LONG}")],
    [("bob", f"Nobody saw I. Berg of the Water Board. {LONG}"), ("cy", f"A dike of the University of Leeds. {LONG}")],
]


@pytest.fixture
def crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(entity_annotator, "installed_models", dict)
    define(tmp_path / "crawl")
    write_posts(tmp_path / "crawl", TEXTS)
    (tmp_path / "crawl" / ARCHIVE).mkdir()
    return tmp_path / "crawl"


def run(crawl: Path, *steps: EnrichmentStep) -> None:
    list(enrich(crawl, steps or chosen_steps(["entities", "consolidation"])))


def test_objects_are_found_by_whom_they_speak_of(crawl: Path) -> None:
    run(crawl)
    assert names(found(crawl, "person:Berg dike")) == ["p1"]
    assert len(found(crawl, 'person:"Ida Berg"').hits) == 2
    assert names(found(crawl, "organisation:leeds")) == ["p2"]
    assert names(found(crawl, "author:ann person:ida")) == ["p1"]
    assert found(crawl, "author:berg").hits == ()


def test_facets_count_what_is_meant(crawl: Path) -> None:
    run(crawl)
    facets = found(crawl).facets
    assert facets["person"] == {"Ida Berg": 2}
    assert facets["organisation"] == {"University of Leeds": 1, "Water Board": 1}
    assert "place" not in facets
    narrowed = found(crawl, filters={"person": ["Ida Berg"]})
    assert narrowed.facets["organisation"] == {"Water Board": 1}


def test_facets_are_those_of_the_annotations_recounted(crawl: Path) -> None:
    run(crawl)
    said: dict[str, dict[str, str]] = {}
    for path in (crawl / ANNOTATIONS).glob(f"*.{NQUADS}"):
        for each in ox.parse(gzip.decompress(path.read_bytes()), ox.RdfFormat.N_QUADS):
            name = re.split("[/:#]", each.predicate.value)[-1]
            said.setdefault(str(each.subject), {})[name] = (
                each.object.value if isinstance(each.object, ox.Literal) else str(each.object)
            )
    refined = {each.get("wasRevisionOf") for each in said.values()}
    counted: dict[str, dict[str, set[str]]] = {}
    for subject, each in said.items():
        if each.get("kind") in ("person", "organisation", "place") and subject not in refined:
            target = said.get(each["hasTarget"], {}).get("hasSource", each["hasTarget"])
            counted.setdefault(each["kind"], {}).setdefault(each["label"], set()).add(target)
    facets = found(crawl).facets
    assert counted
    for kind in ("person", "organisation", "place"):
        assert facets.get(kind, {}) == {label: len(objects) for label, objects in counted.get(kind, {}).items()}


def test_what_is_said_later_is_found_then(crawl: Path) -> None:
    assert len(found(crawl).hits) == 3
    assert found(crawl, "person:berg").hits == ()
    run(crawl)
    assert found(crawl).facets["person"] == {"Ida Berg": 2}
    write_posts(crawl, [[("di", f"We met Dr Ira Berg. {LONG}")]], first=9)
    run(crawl)
    # Whose initial that is nobody knows any more.
    assert found(crawl).facets["person"] == {"I. Berg": 1, "Ida Berg": 1, "Ira Berg": 1}


def test_topics_of_a_run_are_found_from_its_end_on(crawl: Path) -> None:
    run(crawl, WORDS, FREQUENT)
    (topic,) = found(crawl).facets["topic"].items()
    # One of the three repeats what another of its page says, and says nothing of the topic itself.
    assert topic[1] == len(found(crawl, f"topic:{topic[0]}").hits) == 2
    surges = found(crawl, "topic:surges")
    assert (len(surges.hits), surges.unknown, surges.loosened) == (2, (), "")
    assert surges.facets["topic"] == dict([topic])
    assert found(crawl, "surges").total == 0


def test_the_index_is_not_made_anew_for_annotations(crawl: Path) -> None:
    found(crawl)
    before = (crawl / INDEXES / SEARCH).stat().st_ino, [path.name for path in (crawl / INDEXES / "search").iterdir()]
    run(crawl)
    assert found(crawl, "person:berg").hits
    run(crawl, WORDS, FREQUENT)
    found(crawl)
    after = (crawl / INDEXES / SEARCH).stat().st_ino, [path.name for path in (crawl / INDEXES / "search").iterdir()]
    assert before == after
