"""Wikis that are one page: their entries are read from the store that a script shows them from."""

import json

import pytest

from aahcrawler.induction import generic_objects
from aahcrawler.page import tiddlers
from aahcrawler.webobject import Person
from tests.page.building import page_of

TEXT = "!The early boat\nIt leaves the [[harbour|Places]] ''before'' sunrise.\n\n* Nobody has ever missed it."
PLAIN = "The early boat\nIt leaves the harbour before sunrise.\nNobody has ever missed it."
STORE = [
    {"title": "Boats & ferries", "text": TEXT, "created": "20210203101500000", "creator": "Ann", "modifier": "Bert"},
    {"title": "$:/core", "text": "no page", "type": "application/json", "plugin-type": "plugin"},
    {"title": "Draft of 'Boats'", "text": "not yet", "draft.of": "Boats & ferries"},
    {"title": "crane.png", "text": "iVBORw0KGgo=", "type": "image/png"},
    {"title": "Empty", "text": "", "created": "20210203101500000"},
    {"title": "Cranes", "text": "The old crane is gone.", "modifier": "Bert", "created": "20991231000000000"},
]
SCRIPT = f'<script class="tiddlywiki-tiddler-store" type="application/json">{json.dumps(STORE)}</script>'
AREA = (
    '<div id="storeArea"><div title="Boats &amp; ferries" creator="Ann" modifier="Bert" created="202102031015" tags="">'
    f"<pre>{TEXT}</pre></div><div title='MainMenu' modifier='Bert'><pre>[[Boats &amp; ferries]]</pre></div>"
    "<div title='Cranes' modifier='Bert' created='209912310000'><pre>The old crane is gone.</pre></div></div>"
)


@pytest.mark.parametrize("store", [SCRIPT, AREA])
def test_entries_are_objects_and_parts_of_the_software_are_not(store: str) -> None:
    page = page_of(
        f"<html><head><title>Wiki</title></head><body>{store}<noscript>Please enable it.</noscript></body></html>"
    )
    boats, cranes = generic_objects.read_objects(page).objects
    assert (boats.iri, boats.first("title")) == (f"{page.url}#Boats%20%26%20ferries", "Boats & ferries")
    assert (boats.first("body"), boats.first("author")) == (PLAIN, Person("Ann"))
    assert str(boats.first("date")) == "2021-02-03 10:15:00+00:00"
    assert (cranes.first("author"), cranes.first("date")) == (Person("Bert"), None)


@pytest.mark.parametrize("store", ["", "[", '{"title": "a"}', "[1, null, {}]", "[" * 100_000])
def test_a_store_that_cannot_be_read_has_no_entries(store: str) -> None:
    page = page_of(f'<script class="tiddlywiki-tiddler-store" type="application/json">{store}</script>')
    assert tiddlers.entries(page) == ()
