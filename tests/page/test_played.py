"""What a page declares by OpenGraph to play."""

from datetime import UTC, datetime

import pytest

from aahcrawler.page import Headers, Page
from aahcrawler.page.claims import played


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"og:video": "/a.mp4"}, "http://a.test/a.mp4"),
        ({"og:video": "/a", "og:video:type": "video/webm"}, "http://a.test/a"),
        ({"og:video": "/a.mp4", "og:video:secure_url": "https://a.test/b.mp4"}, "https://a.test/b.mp4"),
        ({"og:video": "/player", "og:video:type": "text/html"}, None),
        ({"og:video:url": "/embed/1"}, None),
        ({"og:video": "/player", "og:video:type": "text/html", "og:audio": "/a.mp3"}, "http://a.test/a.mp3"),
        ({"og:audio": "/a.mp4"}, None),
        ({"og:video": "javascript:x.mp4"}, None),
        ({}, None),
    ],
    ids=range(9),
)
def test_files_are_believed_and_players_are_none(said: dict[str, str], expected: str | None) -> None:
    head = "".join(f'<meta property="{name}" content="{value}">' for name, value in said.items())
    headers = Headers((("Content-Type", "text/html"),))
    page = Page("http://a.test/x", 200, headers, f"<head>{head}</head>".encode(), datetime(2026, 1, 1, tzinfo=UTC))
    assert played(page) == expected
