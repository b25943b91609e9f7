import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.etree import tostring
from lxml.html import HtmlElement, fromstring

from aahcrawler.page.text import excerpt, fold, inner_html, plain_text
from tests.pace import at_most


def element_of(markup: str) -> HtmlElement:
    return next(fromstring(f"<html><body>{markup}</body></html>").iter("body"))


def test_blocks_and_breaks_are_lines() -> None:
    element = element_of("<h1>Title</h1>intro <p>One <b>two</b>\n three</p>four<br>five<ul><li>six<li>seven</ul>")
    assert plain_text(element) == "Title\nintro\nOne two three\nfour\nfive\nsix\nseven"


def test_inline_elements_are_no_break() -> None:
    assert plain_text(element_of("un<b>break</b>able&nbsp; <i> space</i>")) == "unbreakable space"


def test_cells_are_apart_and_rows_are_lines() -> None:
    assert plain_text(element_of("<table><tr><th>a</th><td>b</td></tr><tr><td>c</td></tr></table>")) == "a b\nc"


def test_preformatted_lines_stay_lines() -> None:
    assert plain_text(element_of("<pre>def f():\n    return <b>1</b>\r\n</pre>a\nb")) == "def f():\nreturn 1\na b"


def test_what_no_reader_sees_is_left_out_and_its_tail_kept() -> None:
    element = element_of(
        "a<script>x</script>b<style>y</style>c<template><p>z</p></template>d<noscript>n</noscript>e<!--f-->g"
    )
    assert plain_text(element) == "abcdeg"
    assert plain_text(next(element.iter("script"))) == ""
    assert inner_html(element) == "abcde<!--f-->g"


def test_elements_can_be_left_out() -> None:
    element = element_of("<p>keep <q>drop <i>all</i></q> tail</p><q>two</q><q>three</q>")
    quotes = list(element.iter("q"))
    before = tostring(element)
    assert plain_text(element, quotes[:2]) == "keep tail\nthree"
    assert inner_html(element, quotes[:2]) == "<p>keep  tail</p><q>three</q>"
    assert plain_text(element, [element]) == inner_html(element, [element]) == ""
    assert tostring(element) == before


def test_the_tail_of_the_element_is_not_its_text() -> None:
    element = next(element_of("<div><p>inside</p>outside</div>").iter("p"))
    assert plain_text(element) == inner_html(element) == "inside"
    quote = next(element_of("<p><q>in<s>x</s></q>out</p>").iter("q"))
    assert inner_html(quote, list(quote)) == "in"


def test_markup_is_escaped_once() -> None:
    assert (
        inner_html(element_of("1 &lt; 2 &amp; <b title='&quot;'>3 &gt; 2</b>"))
        == "1 &lt; 2 &amp; <b title='\"'>3 &gt; 2</b>"
    )


def test_comments_and_instructions_hide_nothing_behind_them() -> None:
    assert plain_text(element_of("a<!-- x -->b<?php echo ?>c")) == "abc"


def test_excerpt_is_a_beginning_in_one_line() -> None:
    element = element_of("<p>One</p><p>two  three</p>" + "<p>more</p>" * 1000)
    assert excerpt(element, 13) == "One two three"
    assert excerpt(element, 8) == "One two"
    assert excerpt(next(element_of("<b> a  b </b>").iter("b")), 100) == "a b"


@given(st.text())
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


MARKUP = st.lists(
    st.sampled_from(
        ["<p>", "</p>", "<div>", "</div>", "<pre>", "</pre>", "<br>", "<script>", "</script>", "<td>", "<b>", "</b>"]
    )
    | st.text(max_size=5),
    max_size=30,
).map("".join)


@given(MARKUP)
def test_lines_are_folded_and_never_empty(markup: str) -> None:
    element = element_of(markup)
    text = plain_text(element)
    assert all(line and line == fold(line) for line in text.split("\n")) or not text
    assert excerpt(element, 10_000) == fold(text)


@pytest.mark.slow
def test_deep_and_wide_trees_take_linear_time() -> None:
    wide = element_of("<p>a<script>b</script>c</p>" * 50_000)
    deep = element_of("<div>" * 200 + "x")
    with at_most(8):
        assert plain_text(wide).count("\n") == 49_999
        assert "script" not in inner_html(wide)
        assert plain_text(deep) == "x"
        assert excerpt(wide, 100) == fold("ac " * 34)[:100].rstrip()


def test_signs_that_show_nothing_and_how_words_are_pronounced_are_no_text() -> None:
    ruby = "<p><ruby>法<rp>(</rp><rt>ほう</rt><rp>)</rp></ruby>律 Auf&shy;klä&shy;rung</p>"
    assert plain_text(element_of(ruby)) == "法律 Aufklärung"
    assert excerpt(element_of(ruby), 100) == "法律 Aufklärung"
    assert "<rt>" in inner_html(element_of(ruby))
