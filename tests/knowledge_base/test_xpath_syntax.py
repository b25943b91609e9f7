"""Expressions are taken apart as the specification of XPath 1.0 says."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_base.xpath_syntax import Call, Literal, Number, Operation, Path, XPathStep, parse

A, B = Path((XPathStep("child", "a"),)), Path((XPathStep("child", "b"),))


@pytest.mark.parametrize(
    ("source", "tree"),
    [
        ("a", A),
        ("/", Path((), absolute=True)),
        ("//a", Path((XPathStep("descendant", "a"),), absolute=True)),
        (
            ".//@id",
            Path(
                (XPathStep("self", "node()"), XPathStep("descendant-or-self", "node()"), XPathStep("attribute", "id"))
            ),
        ),
        ("../text()", Path((XPathStep("parent", "node()"), XPathStep("child", "text()")))),
        ("ancestor::x-y.z:*[2]", Path((XPathStep("ancestor", "x-y.z:*", (Number(2),)),))),
        ("a | b", Operation("|", A, B)),
        ("div * 2", Operation("*", Path((XPathStep("child", "div"),)), Number(2))),
        ("* * *", Operation("*", Path((XPathStep("child", "*"),)), Path((XPathStep("child", "*"),)))),
        ("or or and", Operation("or", Path((XPathStep("child", "or"),)), Path((XPathStep("child", "and"),)))),
        ("- a", Operation("-", Number(0), A)),
        ("a = 'x]' and b", Operation("and", Operation("=", A, Literal("x]")), B)),
        ("a or b and a", Operation("or", A, Operation("and", B, A))),
        ("count(a, .5)", Call("count", (A, Number(0.5)))),
        ("(a)[1]/b", Path((XPathStep("child", "b"),), base=A, chosen=(Number(1),))),
        ("id('x')//b", Path((XPathStep("descendant", "b"),), base=Call("id", (Literal("x"),)))),
        ("processing-instruction('x')", Path((XPathStep("child", "processing-instruction()"),))),
        ("/ = a", Operation("=", Path((), absolute=True), A)),
    ],
)
def test_an_expression_is_taken_apart(source: str, tree: object) -> None:
    assert parse(source) == tree


@pytest.mark.parametrize("source", ["", "a[", "a]", "a b", "count(a", "//", "a::", "#", "'x"])
def test_what_is_no_expression_is_refused(source: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the message quotes what was found)
        parse(source)


@given(st.text("a/*[]()@.|:'=,- 1", max_size=12))
def test_any_text_is_taken_apart_or_refused(source: str) -> None:
    with suppress(ValueError):
        parse(source)
