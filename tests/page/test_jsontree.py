"""JSON read with the expressions that read HTML."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from lxml.html import HtmlElement

from aahcrawler.page import Headers, Page, jsontree
from aahcrawler.page.text import plain_text
from knowledge_base.selectors import compile_selector
from tests.pace import at_most

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def written(tree: HtmlElement) -> str:
    return etree.tostring(tree, encoding="unicode").replace("\n", "")


def page(body: bytes, content_type: str = "application/json") -> Page:
    return Page(
        "https://a.test/x", 200, Headers((("Content-Type", content_type),)), body, datetime(2026, 11, 21, tzinfo=UTC)
    )


def test_objects_arrays_and_scalars_become_elements() -> None:
    tree = jsontree.parse('{"posts":[{"id":7,"score":1.50,"open":true,"title":{"rendered":"A &amp; <b>"},"x":null}]}')
    assert written(tree) == (
        "<json><posts><item><id>7</id><score>1.50</score><open>true</open>"
        "<title><rendered>A &amp;amp; &lt;b&gt;</rendered></title><x/></item></posts></json>"
    )


def test_the_text_of_several_values_is_told_apart() -> None:
    assert plain_text(jsontree.parse('{"id":7,"title":"Ropes","tags":["wet","cold"]}')) == "7 Ropes wet cold"


def test_the_same_expressions_work_as_on_html() -> None:
    tree = jsontree.parse('[{"postStream": {"posts": [{"id": 1}, {"id": 2}]}}]')
    found = compile_selector(css="postStream posts > item > id").elements(tree)
    assert [element.text for element in found] == ["1", "2"]
    assert compile_selector(xpath="/json/item/*[@key='postStream']//id/text()").nodes(tree) == ["1", "2"]
    assert compile_selector(css="posts > item").holds(tree)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("wp:term", "wp_term"),
        ("12", "_12"),
        ("", "member"),
        ("a b/c", "a_b_c"),
        ("É", "_"),
        ("self", "self"),
        ("Self", "self"),
    ],
)
def test_keys_that_are_no_names_keep_their_spelling_beside(key: str, name: str) -> None:
    (member,) = jsontree.parse(json.dumps({key: 1}))
    assert (member.tag, member.get("key")) == (name, key if name != key else None)


NO_JSON = ("", "{", "{'a': 1}", '{"a": NaN}', "[Infinity]", "[1,]", '{"a":1}\n{"a":2}', "<p>x</p>", '["\n"]')
TOO_MUCH = ("[" * 100_000, '{"a":' * 100_000, " " * (jsontree.MAX_CHARACTERS + 1) + "[]")


@pytest.mark.parametrize("text", [*NO_JSON, *TOO_MUCH], ids=lambda text: text[:16])
def test_what_is_no_json_is_empty(text: str) -> None:
    assert written(jsontree.parse(text)) == "<json/>"


def test_of_equal_keys_the_last_one_counts() -> None:
    assert written(jsontree.parse('{"a":1,"b":2,"a":3}')) == "<json><a>3</a><b>2</b></json>"


def test_numbers_stay_as_they_are_written() -> None:
    huge = "9" * 10_000
    tree = jsontree.parse(f"[{huge}, 1e999, -0.0]")
    assert [item.text for item in tree] == [huge, "1e999", "-0.0"]


def test_characters_that_xml_cannot_have_are_marked() -> None:
    tree = jsontree.parse('{"a\\u0001b":"x\\u0000\\ud800\\uffff\\ud83d\\ude00"}')
    assert tree[0].get("key") == "a\ufffdb"
    assert tree[0].text == "x\ufffd\ufffd\ufffd\U0001f600"


@pytest.mark.slow
def test_depth_count_and_names_are_bounded() -> None:
    deep = jsontree.parse("[" * 900 + "]" * 900)
    assert sum(1 for _ in deep.iter()) == jsontree.MAX_DEPTH + 1
    wide = jsontree.parse("[" + "0," * (jsontree.MAX_ELEMENTS + 9) + "0]")
    assert len(wide) == jsontree.MAX_ELEMENTS
    named = jsontree.parse(json.dumps({f"k{number}": 0 for number in range(jsontree.MAX_NAMES + 9)}))
    assert len({member.tag for member in named}) == jsontree.MAX_NAMES + 1
    assert named[-1].tag == "member"
    assert named[-1].get("key") == f"k{jsontree.MAX_NAMES + 8}"


@pytest.mark.slow
def test_a_large_hostile_document_is_read_in_bounded_time() -> None:
    with at_most(10):
        jsontree.parse("[" + "{}," * (jsontree.MAX_CHARACTERS // 3 - 1) + "0]")


@given(JSON)
def test_every_document_is_read_the_same_each_time(value: object) -> None:
    text = json.dumps(value)
    first = written(jsontree.parse(text))
    assert first == written(jsontree.parse(text))
    assert etree.fromstring(first).tag == "json"


@given(st.text())
def test_no_text_raises(text: str) -> None:
    assert jsontree.parse(text).tag == "json"


@pytest.mark.parametrize(
    ("content_type", "is_json"),
    [
        ("application/json; charset=UTF-8", True),
        ("application/activity+json", True),
        ("application/problem+json", True),
        ("text/html", False),
        ("text/json", False),
        ("application/jsonp", False),
        ("image/x+json", False),
        ("", False),
    ],
)
def test_json_is_what_says_so(content_type: str, is_json: bool) -> None:
    answer = page(b'{"a": 1}', content_type)
    assert answer.is_json is is_json
    assert (answer.tree.tag == "json") is is_json
    assert not (answer.is_json and answer.is_html)


def test_a_byte_order_mark_and_other_encodings_are_read() -> None:
    assert page("\ufeff[1]".encode()).tree[0].text == "1"
    assert page('{"a":"é"}'.encode("utf-16")).tree[0].text == "é"
    assert page(b'{"a":"\xff"}').tree[0].tag == "a"
