"""What is typed on the page of a new crawl is taken as it is, or refused in words."""

import pytest

from tests.cockpit.cockpit_browser import OPERATOR, Cockpit

WISH = {"seeds": "http:/127.0.0.1/x", "contact": "a@example.org", "keywords": "dike"}


@pytest.mark.parametrize("pages", ["sixty", "-5", "0", "1.5", "10,000", "9" * 40])
def test_what_is_no_number_of_pages_is_told(shown: Cockpit, pages: str) -> None:
    cookie = shown.entered(OPERATOR)
    sent = {**WISH, "pages": pages, "secret": shown.form_secret(cookie)}
    text = shown.post("/new", sent, cookie).body.decode()
    assert "is no number of pages" in text
    assert f'value="{pages}"' in text, "what was typed is still there"


@pytest.mark.parametrize(("pages", "limit"), [("60", "pages: 60"), ("", "pages: 10000")])
def test_a_number_of_pages_counts(shown: Cockpit, pages: str, limit: str) -> None:
    cookie = shown.entered(OPERATOR)
    sent = {**WISH, "pages": pages, "secret": shown.form_secret(cookie)}
    text = shown.post("/new", sent, cookie).body.decode()
    assert limit in text
    assert "http://127.0.0.1/x" in text
