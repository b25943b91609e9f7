"""The JSON of metadata records."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.metadata import Link, LinkType, Metadata, MetadataError, read_metadata, write_metadata
from aahcrawler.webobject import Person, Reference, WebObject

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.one_of(
    TEXTS,
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.datetimes(timezones=st.just(UTC)),
    st.builds(Person, TEXTS, st.none() | TEXTS),
    st.builds(Reference, TEXTS),
)
OBJECTS = st.builds(
    WebObject,
    TEXTS,
    TEXTS,
    TEXTS,
    st.dictionaries(TEXTS, st.lists(VALUES, min_size=1, max_size=3).map(tuple), max_size=3),
    st.none() | TEXTS,
    st.dictionaries(TEXTS, TEXTS, max_size=2),
)
LINKS = st.builds(Link, TEXTS, st.sampled_from(LinkType), TEXTS, st.none() | st.sampled_from([0.0, 0.25, 1.5]), TEXTS)


@given(
    st.builds(Metadata, TEXTS, title=TEXTS, links=st.tuples(LINKS), objects=st.lists(OBJECTS, max_size=2).map(tuple))
)
def test_what_is_written_is_read_back(metadata: Metadata) -> None:
    assert read_metadata(write_metadata(metadata)) == metadata


def test_what_no_encoding_or_number_can_express_is_kept_as_far_as_it_goes() -> None:
    assert read_metadata(write_metadata(Metadata(title="a\ud800b"))).title == "a?b"
    post = WebObject("http://a.test/#1", "post", "http://a.test/", {"rating": (float("inf"),)})
    assert read_metadata(write_metadata(Metadata(objects=(post,)))).objects == (post,)


def test_all_of_it_is_plain_json() -> None:
    post = WebObject(
        "http://a.test/#1",
        "post",
        "http://a.test/",
        {
            "author": (Person("Jane"),),
            "date": (datetime(2026, 1, 2, tzinfo=UTC),),
            "url": (Reference("http://a.test/"),),
        },
        "http://a.test/",
    )
    said = json.loads(write_metadata(Metadata(score=0.0, relevant=False, priority=1.0, depth=2, objects=(post,))))
    assert said == {
        "format": 1,
        "score": 0.0,
        "relevant": False,
        "priority": 1.0,
        "depth": 2,
        "objects": [
            {
                "iri": "http://a.test/#1",
                "type": "post",
                "source": "http://a.test/",
                "part_of": "http://a.test/",
                "properties": {
                    "author": [{"person": "Jane"}],
                    "date": [{"datetime": "2026-01-02T00:00:00+00:00"}],
                    "url": [{"reference": "http://a.test/"}],
                },
            }
        ],
    }


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b'{"format": 2}',
        b"\xff",
        b'{"format": 1, "outlinks": [{}]}',
        b'{"format": 1, "outlinks": [{"url": "x", "type": "y"}]}',
        b'{"format": 1, "objects": [{"iri": "x", "type": "y", "source": "z", "properties": []}]}',
        b'{"format": 1, "objects": [{"iri": "x", "type": "y", "source": "z", "properties": {"a": [null]}}]}',
        b"[" * 100_000,
    ],
)
def test_anything_else_is_refused(text: bytes) -> None:
    with pytest.raises(MetadataError):
        read_metadata(text)
