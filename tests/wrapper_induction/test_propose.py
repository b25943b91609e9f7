"""What is proposed for a person to look at: the best action there is, with how well its items fit."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from lxml import etree
from lxml.html import HtmlElement

from aahcrawler.wrapper_induction.examples import Label, LabelledExample, LabelledObject, Method
from aahcrawler.wrapper_induction.induce import induce, propose
from aahcrawler.wrapper_induction.link_selectors import find_links
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.model import Extract, Field, FieldKind, Identity
from tests.wrapper_induction.examples_by_hand import page

SCHEMA = Extract("posts", "reply", (), (Field("body", FieldKind.TEXT, ()),), many=True, identity=Identity(()))
POSTS = """<div class="css-1x9 posts">
<section id="p1" class="odd k8f2 post-12 msg"><b class="x1">A long story</b></section>
<section id="p2" class="even msg"><b>B or not</b></section><section class="hint">other</section></div>"""


def labelled(markup: str, items: str, name: str = "t=1") -> LabelledExample:
    """Return a page with the objects that an XPath expression finds; the bodies are their ``b`` elements."""
    shown = page(markup, name)
    objects = []
    for item in elements(shown.tree, items):
        (body,) = elements(item, "b")
        objects.append(LabelledObject((item,), {"body": Label((body,), str(body.text))}))
    return LabelledExample(shown, Method.INDUCED, tuple(objects), 1.0)


def elements(context: HtmlElement, xpath: str) -> Sequence[HtmlElement]:
    found = context.xpath(xpath)
    assert isinstance(found, list)
    return [each for each in found if isinstance(each, HtmlElement)]


def test_expressions_use_names_that_templates_give() -> None:
    proposed = propose([labelled(POSTS, "//section[@id]")], SCHEMA, ())
    assert proposed is not None
    wrapper, fit = proposed
    assert fit == 1
    assert wrapper.action.items[0].css == "section.msg"
    assert [each.source for field in wrapper.action.fields for each in field.selectors] == ["child::b"]
    assert wrapper.action.identity is not None
    assert [Expression.of(each).xpath for each in wrapper.action.identity.selectors][:1] == ["@id"]


def test_names_that_are_the_words_of_one_page_are_not_used() -> None:
    markup = '<main><article id="story-ice-winter"><b>It froze over in January.</b></article></main>'
    schema = replace(SCHEMA, many=False, identity=None)
    example = labelled(markup, "//article")
    own, foreign = (propose([example], schema, words) for words in ((), ("ice-winter",)))
    assert own is not None
    assert foreign is not None
    assert b"ice-winter" in etree.tostring(own[0].xml())
    assert b"ice-winter" not in etree.tostring(foreign[0].xml())


@pytest.mark.parametrize(("others", "expected"), [(0, 1.0), (1, 6 / 7), (4, 0.6), (5, None)])
def test_the_items_may_fit_nearly_where_a_person_looks_at_them(others: int, expected: float | None) -> None:
    """Nothing but what they say tells the posts from the advertisements between them."""
    post, advertisement = "<div><b>Somebody said this.</b></div>", "<div><b>Buy our soup.</b></div>"
    markup = f"<main>{post * 3}{advertisement * others}</main>"
    example = labelled(markup, "//div[contains(., 'Somebody')]")
    proposed = propose([example], SCHEMA, ())
    assert (proposed[1] if proposed is not None else None) == (pytest.approx(expected) if expected else None)
    if others:
        assert induce([example], SCHEMA) is None


def test_objects_without_numbers_are_told_apart_by_their_texts() -> None:
    example = labelled("<main><p><b>One thing.</b></p><p><b>Another thing.</b></p></main>", "//p")
    proposed = propose([example], SCHEMA, ())
    assert proposed is not None
    assert proposed[0].action.identity is not None
    assert proposed[0].action.identity.fields == ("body",)


def test_links_are_found_by_where_they_stand() -> None:
    rows = "".join(f'<li><a class="topic" href="/t/{n}">T</a> <a href="/u/{n}">U</a></li>' for n in range(3))
    tree = page(f'<ul class="list">{rows}</ul><p><a href="/help">Help</a></p>').tree
    assert find_links(elements(tree, "//a[@class]"), tree) == (Expression(css="a.topic"), 1.0)
    assert find_links(elements(tree, "//a")[:1], page("<p></p>").tree) is None
    nearly = find_links(elements(tree, "//li/a[not(@class)]"), tree)
    assert nearly is not None
    assert 0.6 <= nearly[1] < 1
