"""Whose pages are shown of a work that was just begun."""

from types import SimpleNamespace
from typing import Any

import pytest

from aahcrawler.editor.text.entry_text import EntryText
from aahcrawler.service.cockpit.studio.work_page import likely_host

DRAFT = b"<application><!-- guess: URLs like http://chronicle.example/edit lead to nothing --></application>"


@pytest.mark.parametrize(
    ("applications", "kept", "expected"),
    [
        ({}, "", "chronicle.example"),
        ({}, "http://courier.example/1", "courier.example"),
        ({"beacon.example": "Chronicle"}, "http://courier.example/1", "beacon.example"),
    ],
)
def test_the_host_is_that_of_the_application_of_a_kept_page_or_of_the_text(
    applications: dict[str, str], kept: str, expected: str
) -> None:
    hosts = [
        SimpleNamespace(host=host, applications={applications[host]: 3} if host in applications else {})
        for host in ("courier.example", "chronicle.example", "beacon.example")
    ]
    pages = {"page": SimpleNamespace(expected=SimpleNamespace(url=kept))} if kept else {}
    work: Any = SimpleNamespace(title="Chronicle", state=SimpleNamespace(pages=pages, text=EntryText(DRAFT)))
    desk: Any = SimpleNamespace(hosts=lambda _: SimpleNamespace(hosts=hosts))
    crawl: Any = None
    assert likely_host(desk, crawl, work) == expected
