"""What is typed on the page of a new crawl is taken as it is, or refused in words."""

import re

import pytest

from aahcrawler.service.cockpit.site import COOKIE
from tests.cockpit.cockpit_browser import BLIND, OPERATOR, Cockpit

WISH = {"seeds": "http:/127.0.0.1/x", "contact": "a@example.org", "topic.keywords": "quayside", "action": "write"}


@pytest.mark.parametrize("pages", ["sixty", "-5", "1.5", "10,000"])
def test_what_is_no_number_of_pages_is_told(shown: Cockpit, pages: str) -> None:
    cookie = shown.entered(OPERATOR)
    sent = {**WISH, "limits.pages": pages, "secret": shown.form_secret(cookie)}
    text = shown.post("/new", {**sent, "action": "start"}, cookie).body.decode()
    assert re.search(r'<a href="#f-limits-pages">Pages</a>: (is |must )', text), "a summary leads to the field"
    assert re.search(r'id="f-limits-pages"[^>]*aria-invalid="true"', text)
    assert not (shown.place / "127-0-0-1").exists()
    assert f'value="{pages}"' in text, "what was typed is still there"


@pytest.mark.parametrize(("pages", "limit"), [("60", "pages: 60"), ("", "pages: 10000")])
def test_a_number_of_pages_counts(shown: Cockpit, pages: str, limit: str) -> None:
    cookie = shown.entered(OPERATOR)
    sent = {**WISH, "limits.pages": pages, "secret": shown.form_secret(cookie)}
    text = shown.post("/new", sent, cookie).body.decode()
    assert limit in text
    assert "http://127.0.0.1/x" in text


def test_a_subject_that_is_not_written_is_no_whole_site(shown: Cockpit) -> None:
    cookie = shown.entered(OPERATOR)
    sent = {**WISH, "extent": "about", "topic.keywords": " ", "secret": shown.form_secret(cookie)}
    text = shown.post("/new", {**sent, "action": "start"}, cookie).body.decode()
    assert "choose the whole site" in text
    assert 'href="#f-topic-keywords"' in text


def test_a_whole_site_has_no_subject(shown: Cockpit) -> None:
    cookie = shown.entered(OPERATOR)
    sent = {**WISH, "extent": "whole", "secret": shown.form_secret(cookie)}
    assert "quayside" not in shown.post("/new", sent, cookie).body.decode()
    assert "quayside" in shown.post("/new", {**sent, "extent": "about"}, cookie).body.decode()


def test_a_mistake_under_more_opens_its_topic(shown: Cockpit) -> None:
    cookie = shown.entered(OPERATOR)
    sent = {**WISH, "scope.depth": "deep", "action": "start", "secret": shown.form_secret(cookie)}
    text = shown.post("/new", sent, cookie).body.decode()
    assert re.search(r'<details class="panel more" open>', text)
    assert re.search(r'<details class="fold" open><summary><h3>Scope</h3>', text)
    assert text.count('<details class="fold" open>') == 1


def test_who_crawled_last_need_not_say_so_again(shown: Cockpit) -> None:
    asked = {token: shown.ask("GET", "/new", Cookie=f"{COOKIE}={shown.entered(token)}") for token in (OPERATOR, BLIND)}
    told = {
        token: re.search(r'id="f-contact"[^>]*value="([^"]*)"', each.body.decode()) for token, each in asked.items()
    }
    assert all(told.values())
    contact = {token: found[1] for token, found in told.items() if found}
    assert contact[OPERATOR]
    assert contact[BLIND] == "", "who may see no crawl is told nothing of it"


def test_the_same_address_again_makes_another_crawl(shown: Cockpit) -> None:
    cookie = shown.entered(OPERATOR)
    sent = {**WISH, "seeds": "http://shown.test/", "secret": shown.form_secret(cookie)}
    assert "id: shown-test\n" in shown.post("/new", sent, cookie).body.decode()
    (shown.place / "shown-test").mkdir()
    assert "id: shown-test-2\n" in shown.post("/new", sent, cookie).body.decode()
    (shown.place / "shown-test").rmdir()
