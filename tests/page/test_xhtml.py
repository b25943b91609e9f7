"""XHTML is read as such, whatever type of XML it is declared as."""

import pytest

from tests.pace import at_most
from tests.page.building import page_of

NS = "http://www.w3.org/1999/xhtml"


def shown(inner: str, field: str = "application/xml") -> str:
    markup = f'<?xml version="1.0"?><html xmlns="{NS}"><head><title>T</title></head><body>{inner}</body></html>'
    return " ".join(next(page_of(markup, field).tree.iter("body")).itertext()).strip()


@pytest.mark.parametrize("field", ["application/xml", "text/xml; charset=utf-8", "application/xhtml+xml"])
def test_it_has_a_title_text_and_links(field: str) -> None:
    page = page_of(
        f'<html xmlns="{NS}"><head><title>A lamp</title></head><body><a href="/x">b</a></body></html>', field
    )
    assert page.is_html
    assert [each.text for each in page.tree.iter("title")] == ["A lamp"]
    assert [each.get("href") for each in page.tree.iter("a")] == ["/x"]


@pytest.mark.parametrize("field", ["application/xml", "application/xhtml+xml"])
def test_elements_may_have_a_prefix(field: str) -> None:
    head = f'<?xml version="1.0"?><x:html lang="en" xmlns:x="{NS}"><x:head><x:title>A lamp</x:title><x:script src="a"/>'
    page = page_of(f'{head}</x:head><x:body><x:p>one<x:br/>two <x:a href="/x">b</x:a></x:p></x:body></x:html>', field)
    assert page.is_html
    assert [each.text for each in page.tree.iter("title")] == ["A lamp"]
    assert [each.get("href") for each in page.tree.iter("a")] == ["/x"]
    assert page.language == "en"


def test_a_prefix_of_another_namespace_makes_no_page() -> None:
    assert not page_of(
        f'<x:html xmlns:y="{NS}" xmlns:x="urn:other"><x:a href="/x">b</x:a></x:html>', "text/xml"
    ).is_html
    assert not page_of(f'<x:html xmlns="{NS}"><x:a href="/x">b</x:a></x:html>', "text/xml").is_html


def test_empty_elements_do_not_swallow_what_follows() -> None:
    assert shown('<script src="a.js"/><p>one</p><textarea/><iframe src="/f" /><p>two</p>') == "one two"
    markup = f'<html xmlns="{NS}"><head><title/><script type="t" src="a.js"/></head><body><p>text</p></body></html>'
    assert [each.text for each in page_of(markup, "text/xml").tree.iter("p")] == ["text"]


def test_sections_of_cdata_are_text_but_in_scripts() -> None:
    assert shown("<p><![CDATA[1 < 2 & <b>3</b>]]></p>") == "1 < 2 & <b>3</b>"
    page = page_of(f'<html xmlns="{NS}"><head><script>//<![CDATA[\na && b//]]></script></head></html>', "text/xml")
    assert [each.text for each in page.tree.iter("script")] == ["//<![CDATA[\na && b//]]>"]


def test_a_slash_at_the_end_of_an_unquoted_address_belongs_to_it() -> None:
    page = page_of(f'<html xmlns="{NS}"><body><a href=/x/>y</a><br/></body></html>', "application/xhtml+xml")
    assert [(each.get("href"), each.text) for each in page.tree.iter("a")] == [("/x/", "y")]


@pytest.mark.parametrize("hostile", ["<![CDATA[" * 300_000, "<script " * 300_000, "<a " * 500_000, "<a b='" * 300_000])
def test_hostile_markup_takes_linear_time(hostile: str) -> None:
    page = page_of(f'<html xmlns="{NS}"><body>{hostile}', "text/xml")
    with at_most(5):
        assert page.tree is not None
