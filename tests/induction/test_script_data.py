"""Articles that a page holds in the data of its scripts alone."""

import json

import pytest

from aahcrawler.induction.generic_objects import read_objects
from aahcrawler.induction.record_sets import NoObject
from aahcrawler.page import Page
from tests.page.building import PARAGRAPH, page_of

TITLE = "The ice broke early"
BODY = [PARAGRAPH.strip(), f"On Sunday the ferry came. {PARAGRAPH.strip()}", f"Nobody knew it. {PARAGRAPH.strip()}"]
OTHER = {"title": "Who sold the lighthouse?", "body": "".join(f"<p>{PARAGRAPH}</p>" for _ in range(9))}
MARKUP = "".join(f"<p>{line}</p>" for line in BODY)
ARC = [{"type": "text", "content": line} for line in BODY]
CONTENTFUL = {
    "nodeType": "document",
    "content": [
        {
            "nodeType": "paragraph",
            "content": [
                {"nodeType": "text", "value": line[:30]},
                {"nodeType": "hyperlink", "data": {"uri": "/x"}, "content": [{"nodeType": "text", "value": line[30:]}]},
            ],
        }
        for line in BODY
    ],
}
EDITOR = {"time": 1, "blocks": [{"type": "paragraph", "data": {"text": line}} for line in BODY]}
PORTABLE = [{"_type": "block", "children": [{"_type": "span", "text": line}]} for line in BODY]


def shell(script: str) -> Page:
    head = f"<title>{TITLE} - Harbour News</title>"
    return page_of(f"<html><head>{head}</head><body><h1>{TITLE}</h1><div id=root></div>{script}</body></html>")


def state(body: object, title: object = TITLE) -> str:
    return json.dumps({"props": {"pageProps": {"related": [OTHER], "post": {"id": 7, "title": title, "body": body}}}})


@pytest.mark.parametrize(
    "body", [MARKUP, "\n".join(BODY), BODY, ARC, CONTENTFUL, EDITOR, PORTABLE, {"rendered": MARKUP}]
)
def test_the_text_of_the_page_is_in_its_data(body: object) -> None:
    [found] = read_objects(shell(f'<script id="__NEXT_DATA__" type="application/json">{state(body)}</script>')).objects
    assert (found.type, found.first("title")) == ("article", TITLE)
    assert str(found.first("body")).split("\n") == BODY


def test_data_may_be_assigned_to_a_variable() -> None:
    script = f"var started = Date.now(); window.__STATE__ = {state(MARKUP, {'rendered': TITLE})};"
    [found] = read_objects(shell(f"<script>{script}</script>")).objects
    assert str(found.first("body")).split("\n") == BODY


@pytest.mark.parametrize(
    "script",
    [state(MARKUP, "Who sold the lighthouse?"), state("Soon."), "{" * 5_000, "[" * 200_000, '{"title": [[], {}'],
    ids=["of another title", "little text", "no data", "deep", "cut off"],
)
def test_data_without_the_text_of_the_page_make_no_object(script: str) -> None:
    found = read_objects(shell(f'<script type="application/json">{script}</script>'))
    assert not found.objects
    assert found.reason is NoObject.NO_TEXT


def test_what_the_page_shows_comes_before_its_data() -> None:
    shown = "".join(f"<p>{line}</p>" for line in (PARAGRAPH, PARAGRAPH + "Shown.", PARAGRAPH + "Again."))
    [found] = read_objects(shell(f'{shown}<script type="application/json">{state(MARKUP)}</script>')).objects
    assert BODY[1] not in str(found.first("body"))
