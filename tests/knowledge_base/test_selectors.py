"""Required literals never rule out an expression that finds something; unions are narrowed to what can match."""

import pytest
from lxml.html import document_fromstring, fromstring

from knowledge_base.model import Extract, KnowledgeBase
from knowledge_base.selectors import (
    BadExpressionError,
    Selector,
    SourceLiterals,
    compile_selector,
    required_literals,
)
from tests.helper.saved_pages import saved_pages
from tests.shipped import shipped


@pytest.mark.parametrize(
    ("expression", "literals"),
    [
        ("//div[@id='posts']", ("posts",)),
        ("//div[@id='posts'][@class='a' or @class='b']", ("posts",)),
        ("//div[not(@id='posts')]", ()),
        ("//div[not(@id='posts') and @class='thread']", ("thread",)),
        ("//div[count(a[@class='hidden']) = 0]", ()),
        ("//div[@class != 'hidden']", ()),
        ("//div[translate(@id, 'POSTS', 'posts') = 'posts']", ()),
        ("//div[concat(@id, 'suffix') = 'xsuffix']", ()),
        ("//div[contains(concat(' ', normalize-space(@class), ' '), ' post ')]", ("post",)),
        ("concat(//a[@id='anchor'], 'x')", ()),
        ("(//a[@id='anchor'])[1]", ("anchor",)),
        ('descendant::a[@title="it\'s ]here"]', ("]here",)),
        ("//a[@id='one-a'] | //b", ()),
        (".//a[.//b[@id='inner' or @id='other']]", ()),
    ],
)
def test_required_literals(expression: str, literals: tuple[str, ...]) -> None:
    assert required_literals(expression) == literals


def all_selectors(knowledge_base: KnowledgeBase) -> list[Selector]:
    found = [p.selector for app in knowledge_base.applications for p in app.patterns if p.selector]
    for level in (level for app in knowledge_base.applications for level in app.levels):
        found += [c.selector for c in (*level.when, *level.unless) if c.selector] + list(level.own)
        for action in level.actions:
            if isinstance(action, Extract):
                found += [*action.items, *(s for field in action.fields for s in (*field.selectors, *field.without))]
            else:
                found += [source.selector for source in action.sources]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("every", [75, pytest.param(15, marks=pytest.mark.soak)])
def test_narrowing_loses_nothing_on_some_saved_pages(every: int) -> None:
    selectors = all_selectors(shipped())
    for saved in saved_pages()[::every]:
        literals = SourceLiterals(saved.page.body.lower())
        for selector in selectors:
            narrowed = literals.narrow(selector)
            assert (narrowed.found(saved.page.tree) if narrowed else []) == selector.found(saved.page.tree)


def test_a_union_is_narrowed_to_the_branches_that_can_match() -> None:
    selector = compile_selector(css=".one a, .two a, .three a")
    narrowed = SourceLiterals(b'<p class="two">').narrow(selector)
    assert narrowed is not None
    assert narrowed.source.count("descendant::a") == 1
    assert narrowed.elements(fromstring('<div><p class="two"><a>x</a></p></div>'))
    assert SourceLiterals(b"<p>").narrow(selector) is None
    assert SourceLiterals(None).narrow(selector) is selector


@pytest.mark.parametrize("css", ["a..b", "a:hover(", "", "::before", "a " * 20_000])
def test_bad_selectors_are_refused(css: str) -> None:
    with pytest.raises(BadExpressionError):
        compile_selector(css=css)


@pytest.mark.parametrize("xpath", ["//p[matches(., 'x')]", "ends-with(//a, 'b')", "//a[lower-case(@b) = 'c']"])
def test_functions_of_later_xpath_are_refused(xpath: str) -> None:
    with pytest.raises(BadExpressionError, match=r"XPath 1\.0 has no function"):
        compile_selector(xpath=xpath)


def test_texts_node_tests_and_operators_are_no_unknown_functions() -> None:
    xpath = "//a[contains(., 'matches(') or (@b and not (child::text()))]/descendant::node()[position() mod (2) = 1]"
    assert compile_selector(xpath=xpath).source == xpath


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("//*[@id='one']", True),
        ("descendant::*[@id = 'one']/b", True),
        ("//*[@id='one'][2]", False),
        ("descendant::p[@id = 'one']", False),
        ("descendant::*[@id = 'root']", False),
        ("//*[@id='root']", True),
        ("//meta[@name='x']", True),
        ("//meta[@name='y'] | //body[@class='z']", True),
        ("//link", False),
        ("//body[last()]/div", True),
        ("/*[not(//link)]/descendant-or-self::div[@id='one']", True),
        ("/*[not(//div)]/descendant-or-self::div[@id='one']", False),
        ("/*[not(//link)][not(//meta[@name=']'])]/descendant-or-self::form", False),
        ("/*[not(//div)]/descendant-or-self::form | //meta", True),
        ("/*[not(//div)] or //meta", True),
        ("/*[not(//div)]//a = 'x' or //meta", True),
    ],
)
def test_what_is_shown_is_what_is_found(expression: str, shown: bool) -> None:
    page = document_fromstring(
        "<html id='root'><body class='z'><a name='one'></a><div id='one'><b></b><meta name='x'></div></body>"
    )
    selector = compile_selector(xpath=expression)
    assert selector.shows(page) is selector.holds(page) is shown
