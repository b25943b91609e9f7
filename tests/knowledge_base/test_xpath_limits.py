"""What an expression may cost follows from its form and the page alone, and is no less than what it looks at."""

import pytest
from lxml import etree
from lxml.html import HtmlElement, document_fromstring

from knowledge_base.element_index import Elements
from knowledge_base.selectors import compile_selector
from knowledge_base.xpath_limits import FEW_NODES, MAX_WORK, Limits, PageShape, TooCostlyError, evaluation_cost, form_of
from knowledge_base.xpath_syntax import parse

CUBIC = "//i[count(//i[count(//i) > 1]) > 1]"


def rows(number: int, inner: str = "<a href='x'>t</a><p class='body'>words</p>") -> HtmlElement:
    return document_fromstring("<main>" + f"<div class='post'>{inner}</div>" * number + "</main>")


def refused(source: str, tree: HtmlElement, context: HtmlElement | None = None, length: int = 0) -> bool:
    try:
        Limits(tree, length).check(source, tree if context is None else context)
    except TooCostlyError:
        return True
    return False


@pytest.mark.parametrize(
    "source",
    [
        "//a[@href]",
        "//div[@class='post']//a",
        ".//*[contains(concat(' ', normalize-space(@class), ' '), ' body ')]",
        "//a[not(ancestor::nav)]",
        "//div[.//p][1]",
        "//a | //p",
        "//html[//p]",
        "string(//title)",
    ],
)
def test_usual_expressions_are_evaluated_on_large_pages(source: str) -> None:
    assert not refused(source, rows(8_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        "//a[//p]",
        "//a[count(//p) > 1]",
        "//a[preceding::p]",
        "//p[following-sibling::*[. = 'x']]/preceding::a",
        "//div/preceding-sibling::div",
        "//a[. = //p]",
        "//*[contains(string(/), 'x')]",
        "//a | //a/@href | //p | //*/following::*",
    ],
)
def test_expressions_that_look_at_the_page_for_each_element_are_not(source: str) -> None:
    assert refused(source, rows(8_000))
    assert not refused(source, rows(60))


@pytest.mark.slow
def test_many_elements_of_a_union_are_too_many() -> None:
    tree = document_fromstring("<p>" + "<b></b><i></i>" * 100_000 + "</p>")
    assert refused("//b | //i", tree)
    assert not refused("//b", tree)


@pytest.mark.slow
def test_deep_pages_are_worse_than_flat_ones() -> None:
    assert refused("//div//i", document_fromstring("<div>" * 240 + "<i>t</i>" * 20_000))
    assert not refused("//div//i", document_fromstring("<div></div>" * 240 + "<i>t</i>" * 20_000))


def test_long_texts_count() -> None:
    source = "//p[contains(string(/), 'x')]"
    assert not refused(source, rows(2_000))
    assert refused(source, rows(2_000), length=20_000_000)


@pytest.mark.slow
def test_a_condition_on_a_class_says_how_many_there_are() -> None:
    tree = rows(15_000)
    few = document_fromstring("<main>" + "<div class='rare'></div><div><a>t</a></div>" + "<div><a>t</a></div>" * 15_000)
    for of in (f"contains(concat(' ', {read}, ' '), ' {{}} ')" for read in ("@class", "normalize-space(@class)")):
        source = f"//div[{of}]/following::a"
        assert not refused(source.format("rare"), few)
        assert refused(source.format("post"), tree)
    assert not refused("//*[@id='x' and not(a)]/following::a", few)


def test_within_an_element_only_that_counts() -> None:
    tree = rows(3_000)
    post = tree.find(".//div")
    assert post is not None
    source = ".//*[count(.//*[count(.//*) > 1]) > 1]"
    assert not refused(source, tree, post)
    assert refused("//div[count(//div[count(//div) > 1]) > 1]", tree, post)


def test_the_bound_is_no_less_than_what_is_looked_at() -> None:
    tree = rows(40)
    size = int(tree.xpath("count(//*)"))
    for source, inner in {"//a[//p]": "//p", "//a[count(//div//p) > 1]": "//div"}.items():
        looked = len(tree.xpath("//a")) * len(tree.xpath(inner))
        assert evaluation_cost(parse(source), PageShape.worst(size, 5)) >= looked


def test_anything_is_evaluated_on_small_pages_and_what_cannot_be_told_too() -> None:
    assert not refused(CUBIC, rows(FEW_NODES // 4))
    assert form_of("no XPath at all :").expression is None
    assert form_of("no XPath at all :").work(PageShape.worst(100_000, 5)) > MAX_WORK


def test_a_selector_refuses_before_it_begins() -> None:
    tree = rows(900, "<i></i><i></i>")
    selector, elements = compile_selector(xpath=CUBIC), Elements(tree)
    for ask in (selector.found, selector.nodes, selector.elements, selector.holds, selector.shows):
        with pytest.raises(etree.XPathError, match=r"may look at [0-9,]+ nodes"):
            ask(tree, elements)


UPPER, LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
LONG = "the harbour was closed on Tuesday, and nobody knew why. "


def text_of(size: int) -> HtmlElement:
    return document_fromstring(f"<main><p>{LONG * (size // len(LONG))}</p></main>")


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("string-length(translate(., ., .))", id="translate"),
        pytest.param("//p[translate(string(/), normalize-space(.), '') = '']", id="translate with normal blanks"),
        pytest.param(f"string-length(concat({', '.join(['.'] * 400)}))", id="concat of many"),
        pytest.param("string-length(concat(., '" + "', ., '".join("x" * 400) + "'))", id="concat with literals"),
        pytest.param("contains(., concat(substring(., 1, 200000), 'b'))", id="contains"),
        pytest.param("substring-before(., concat(., '!'))", id="substring-before"),
        pytest.param(f"string-length(translate(., '{'ABC' * 2_000}', ''))", id="translate of a long literal"),
    ],
)
def test_products_of_long_texts_are_refused(source: str) -> None:
    tree = text_of(424_000)
    assert etree.XPath(source), "it is an expression"
    assert refused(source, tree, length=424_000)
    assert not refused(source, text_of(1_000), length=1_000)


def test_products_of_texts_count_on_pages_of_few_elements() -> None:
    assert refused("//*[translate(., ., .) = translate(string(/), ., .)]", rows(50, LONG * 6), length=18_000)


@pytest.mark.parametrize(
    "source",
    [
        f"//p[translate(normalize-space(.), '{UPPER}', '{LOWER}') = 'reply']",
        f"//*[contains(translate(@class, '{UPPER}', '{LOWER}'), 'body')]",
        "//div[contains(concat(' ', normalize-space(@class), ' '), ' post ')]//p[contains(., 'words')]",
        "//a[starts-with(@href, concat('/', 'x'))][contains(@href, 'x')]",
        "concat(//title, ' - ', //h1, ' - ', string(//p))",
    ],
)
def test_usual_functions_of_texts_are_evaluated_on_large_pages(source: str) -> None:
    tree = rows(8_000)
    assert not refused(source, tree, length=len(etree.tostring(tree)))


def test_attributes_count_by_their_own_length() -> None:
    long, short = (
        document_fromstring("<main>" + f"<a href='{text}' class=c>t</a>" * 500) for text in ("x" * 2_000, "x")
    )
    source = "//a[translate(@href, @href, '') = '']"
    assert refused(source.replace("'') = ''", "@href) = string(//a[translate(@href, @href, '')])"), long)
    assert not refused(source, short)
    assert not refused(source.replace("@href", "@class"), long)
