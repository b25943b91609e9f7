"""The first variant of a level that holds gives the actions, else the level's own."""

from aahcrawler.helper import Assistance
from knowledge_base.model import Application, Condition, Variant
from knowledge_base.url_rules import PathGlob, UrlRule
from tests.helper.building import application, article, assist, level, links, text_field, when, xpath

BODY = '<article><p class="body">old</p><p class="new">new</p><p class="newest">newest</p></article><a href="/x">x</a>'


def variant(name: str, condition: str, source: str) -> Variant:
    return Variant(name, when(condition), (article(text_field("body", source)), links("more", "page", "a")))


APPLICATION = application(
    "press",
    level(
        "page", "article", article(), variants=(variant("two", ".two, .second", ".new"), variant("3", ".three", ".x"))
    ),
)


def read(application_: Application, markup: str) -> tuple[str, list[object], list[str | None]]:
    found: Assistance = assist(application_, markup)
    assert found.match is not None
    actions = [link.action for link in found.document.outlinks]
    return found.match.variant, [item.first("body") for item in found.objects], actions


def test_without_a_sign_the_level_itself_counts() -> None:
    assert read(APPLICATION, BODY) == ("", ["old"], [])


def test_the_first_variant_that_holds_counts() -> None:
    assert read(APPLICATION, f'<div class="second three">{BODY}</div>') == ("two", ["new"], ["more"])
    assert read(APPLICATION, f'<div class="three">{BODY}</div>') == ("3", [None], ["more"])


def test_a_variant_whose_sign_cannot_be_evaluated_is_passed_over() -> None:
    broken = Variant("broken", (Condition(xpath("//p[count('x')]")),), ())
    found = assist(application("press", level("page", "article", article(), variants=(broken,))), BODY)
    assert [item.first("body") for item in found.objects] == ["old"]
    assert [(failure.level, failure.action) for failure in found.failed_actions] == [("page", "variant broken")]


def test_a_variant_can_be_told_by_the_address() -> None:
    mobile = Variant("mobile", (Condition(rule=UrlRule(PathGlob("m/**"))),), (article(text_field("body", ".new")),))
    adapted = application("press", level("page", "article", article(), variants=(mobile,)))
    found = [assist(adapted, BODY, f"http://site.test/{path}") for path in ("m/1", "1")]
    assert [each.objects[0].first("body") for each in found] == ["new", "old"]
