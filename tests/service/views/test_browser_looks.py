"""What the cockpit shows of a look at a page in a browser, whatever the records beside a capture hold."""

import json
from pathlib import Path

import pytest

from aahcrawler.archive.records import Resource
from aahcrawler.service.views.capture_view import Picture, browser_look, picture
from tests.service.views.test_warc_records import URL, writing, written

PNG = b"\x89PNG\r\n\x1a\n-"
LOOK = {
    "dom": "urn:uuid:1",
    "ended": "time",
    "seconds": 2.5,
    "requests": 7,
    "refused": {"websocket": 2},
    "behaviours": ["scroll to the end: 3 steps"],
    "console": ["error: x is undefined", "\x1b[31m" + "y" * 900],
    "to come": {"a": 1},
}


def kept(look: object, *resources: Resource) -> dict[str, object]:
    return {"metadata": json.dumps({"format": 1, "browser": look}).encode(), "resources": resources}


def test_it_is_told_with_its_pictures(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        made = (Resource.rendered_dom(URL, b"<p>made"), Resource.screenshot(URL, PNG))
        one = written(writer, b"<div id=app>", **kept(LOOK, *made))  # type: ignore[arg-type]
        plain = written(writer, b"<p>", "http://a.test/plain")
    found = browser_look(tmp_path, one)
    assert found is not None
    assert (found.ended, found.seconds, found.requests, found.refused) == ("time", 2.5, 7, {"websocket": 2})
    assert found.console[0] == "error: x is undefined"
    assert found.console[1].startswith("\ufffd[31myyy")
    assert len(found.console[1]) == 500
    assert (found.pictures, found.has_document) == (frozenset({Picture.SCREENSHOT}), True)
    assert picture(tmp_path, one, Picture.SCREENSHOT) == (PNG, "image/png")
    assert picture(tmp_path, one, Picture.THUMBNAIL) is None
    assert browser_look(tmp_path, plain) is None
    assert picture(tmp_path, plain, Picture.SCREENSHOT) is None


@pytest.mark.parametrize("look", [None, 5, [], {"refused": "x"}, {"seconds": {}}, {"console": {"a": 1}}])
def test_a_look_that_cannot_be_read_is_none(tmp_path: Path, look: object) -> None:
    with writing(tmp_path) as writer:
        one = written(writer, b"x", **kept(look))  # type: ignore[arg-type]
    assert browser_look(tmp_path, one) is None


def test_what_says_to_be_a_picture_and_is_none_is_not_shown(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        one = written(writer, b"x", resources=(Resource.screenshot(URL, b"<script>x</script>"),))
    assert picture(tmp_path, one, Picture.SCREENSHOT) is None
