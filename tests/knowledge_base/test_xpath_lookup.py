"""What an index of a page finds is what an XPath engine finds; where that cannot be told, the engine is asked."""

from functools import cache

import pytest
from lxml import etree
from lxml.html import HtmlElement, document_fromstring, fromstring

from knowledge_base import element_index
from knowledge_base.element_index import Elements, compiled, look_up
from knowledge_base.matching import literals_of
from knowledge_base.selectors import Selector, SourceLiterals, compile_selector
from tests.helper.saved_pages import saved_pages
from tests.knowledge_base.test_selectors import all_selectors
from tests.shipped import shipped

_POST = "contains(concat(' ', normalize-space(@class), ' '), ' post ')"
_PAGE = """
<html class="post"><body id="b" class="page post">
<!-- a comment --><div id="one" class="post first"><a href="1">one</a><p class="POST">upper</p>
<div class="post inner" id="two"><a href="2" class="post\u00a0x">two</a></div> tail</div>
<div class="post\tlast" id="three"><a href="3">three</a><b id="one">double</b></div><!-- end -->
<p class="postscript"><a href="4" id="">four</a></p><svg:p class="post">named</svg:p></body></html>
"""

_LOOKED_UP = [
    f"//*[{_POST}]",
    f".//div[{_POST}]",
    f"descendant::*[{_POST}]/descendant::a",
    f"//p[{_POST}]",
    f"//*[{_POST}][a]",
    f"//div[a][{_POST}]/@id",
    f"//*[{_POST}][not(ancestor::div)]//a",
    f"//*[{_POST}]//a[1]",
    f"//*[{_POST} and @id]",
    f"//*[({_POST}) and (@id = 'two')]/a/@href",
    "//*[@id='one']",
    "//*[@id='one']//a/@href",
    "//*[@id='two']/following-sibling::text()",
    "//*[@id='two']/..",
    "//*[@id='three']//a | //*[@id='one']/a | //h1",
    "//*[@id='three']//@href | //*[@id='none']/@href",
    "//*[@id='two']/ancestor::div/a",
    "descendant::*[@id = '']",
    f"//body[{_POST}]",
    f"descendant::body[{_POST}]",
    "@id",
    "./@href",
]
_NOT_LOOKED_UP = [
    f"(//*[{_POST}])[2]",
    f"//div[{_POST}][2]",
    f"//div[{_POST}][last()]",
    f"//div[2][{_POST}]",
    f"//div[{_POST}][count(a)]",
    f"//div[{_POST}][string-length(@id) - 2]",
    f"//*[not({_POST})]",
    f"//*[{_POST} or @href]",
    f"//*[a[{_POST}]]",
    "//*[a/@id='one']",
    "//*[@id='one' or @id='two']",
    "//*[@id!='one']",
    "//*[@id='one']/a = 'one'",
    "//*[@id='none'] and //b",
    "count(//*[@id='one'])",
    ".//@id",
    "@id | @class",
    "self::p/@id",
    "//*[@id='three']//@href | //*[@id='one']/@class",
    f"//*[{_POST}]/following-sibling::*",
    "//div[a]//a[@href]",
    "//div//a[@href][1]",
    "(//div[a]//a[@href])[2]",
    "//*[.//b[@id] or @class]//a[@href][@class]",
]


@cache
def engine(source: str) -> etree.XPath:
    return etree.XPath(source, smart_strings=False)


def both(selector: Selector, context: HtmlElement, known: Elements) -> tuple[object, object]:
    """Return what the engine finds, and what is found with the index; without it that is the same, too."""
    result = engine(selector.source)(context)
    plain = result if isinstance(result, list) else [str(result)]
    assert selector.found(context) == plain
    return plain, selector.found(context, known)


@pytest.mark.parametrize("expression", _LOOKED_UP + _NOT_LOOKED_UP)
def test_the_same_is_found_from_everywhere(expression: str) -> None:
    tree = document_fromstring(_PAGE)
    selector, known = compile_selector(xpath=expression), Elements(tree)
    for context in tree.iter("*"):
        plain, looked_up = both(selector, context, known)
        assert plain == looked_up
        assert selector.holds(context) == selector.shows(context, known)


@pytest.mark.parametrize("expression", _LOOKED_UP)
def test_expressions_that_ask_for_a_class_or_an_id_are_looked_up(expression: str) -> None:
    apart = document_fromstring('<p><b class="post" id="one">x</b>')
    assert look_up(expression, apart, Elements(apart)) is not None


@pytest.mark.parametrize("expression", _NOT_LOOKED_UP)
def test_others_are_not(expression: str) -> None:
    tree = document_fromstring(_PAGE)
    assert look_up(expression, tree, Elements(tree)) is None


def test_the_index_knows_one_document() -> None:
    inside, outside = document_fromstring(_PAGE), fromstring('<div class="x"><p class="post">other</p></div>')
    selector, known = compile_selector(css=".post"), Elements(inside)
    assert [found.text for found in selector.elements(outside, known)] == ["other"]
    assert look_up(selector.source, outside, known) is None


def test_unions_are_narrowed_to_classes_and_ids_that_are_there() -> None:
    tree = document_fromstring(_PAGE)
    source, known = SourceLiterals(_PAGE.encode().lower()), Elements(tree)
    # The source holds "script", and no element has it as its class.
    narrowed = source.narrow(compile_selector(css=".script a, #two a, h6"), known)
    assert narrowed is not None
    assert narrowed.source.count("|") == 1
    assert source.narrow(compile_selector(css=".script, #tw"), known) is None
    # What is not of the document is searched for by the source.
    assert source.narrow(compile_selector(css=".script")) is not None


def test_large_documents_have_no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(element_index, "MAX_INDEXED", 5)
    tree = document_fromstring(_PAGE)
    selector, known = compile_selector(css=".post a"), Elements(tree)
    assert look_up(selector.source, tree, known) is None
    assert selector.found(tree, known) == selector.found(tree) != []


@pytest.mark.slow
@pytest.mark.parametrize("every", [180, pytest.param(25, marks=pytest.mark.soak)])
def test_nothing_of_the_knowledge_base_is_lost_on_saved_pages(every: int) -> None:
    selectors = list({selector.source: selector for selector in all_selectors(shipped())}.values())
    looked_up = found = 0
    for saved in saved_pages()[::every]:
        tree, literals = saved.page.tree, literals_of(saved.page)
        within = [each for each in tree.iter("div", "li", "article", "table") if len(each)][::40][:3]
        for selector in selectors:
            for context in (tree, *within):
                plain, known = both(selector, context, saved.page.elements)
                assert plain == known, selector.source
                narrowed = literals.narrow(selector, saved.page.elements)
                assert (narrowed.found(context, saved.page.elements) if narrowed else []) == plain, selector.source
                looked_up += look_up(selector.source, context, saved.page.elements) is not None
                found += bool(plain)
    assert looked_up > 1000
    assert found > 100


def test_what_lies_behind_nested_elements_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    depth, looked, behind = 200, list[HtmlElement](), element_index._behind

    def look(element: HtmlElement) -> HtmlElement | None:
        looked.append(element)
        return behind(element)

    monkeypatch.setattr(element_index, "_behind", look)
    markup = '<div class="post">' * depth + "<a>x</a>" + "</div>" * depth + "<!--c-->" * 10 + "<p>end</p>"
    tree = document_fromstring(f"<html><body>{markup}</body></html>")
    known, selector = Elements(tree), compile_selector(css=".post > a")
    for item in tree.iter("div"):
        assert len(selector.elements(item, known)) == (item[0].tag == "div")
    assert len(looked) == len(set(looked)) == depth


def test_a_condition_on_what_is_anywhere_below_is_one_step_of_the_engine() -> None:
    for written, one in (
        ("//div[@id]//a[@href]", "/descendant::div[@id]/descendant::a[@href]"),
        (".//*[self::p or self::b][@x]", "./descendant::*[self::p or self::b][@x]"),
        ("//a[b//c[@d = '//e[@f]']]", "/descendant::a[b/descendant::c[@d = '//e[@f]']]"),
    ):
        assert compiled(written).path == one
    for kept in ("//a[1]//b[last()]", "//a[position() < 3]", "//a[b][2]", "//a[count(b)]", "//a//b"):
        assert compiled(kept).path == kept
