"""Values of the knowledge base made by hand, for tests of what the helper does with them."""

from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.helper.detection import Watchdog
from knowledge_base.model import (
    Action,
    Application,
    Condition,
    Extract,
    Field,
    FieldKind,
    Identity,
    KnowledgeBase,
    LinkSource,
    Navigate,
    PageLevel,
    Pattern,
    Role,
    Signal,
    Strength,
    Variant,
)
from knowledge_base.selectors import Selector, compile_selector
from knowledge_base.url_rules import Paging, PathGlob, UrlRule
from tests.helper.saved_pages import html_page


def css(source: str, attribute: str = "") -> Selector:
    return compile_selector(css=source, attribute=attribute)


def xpath(source: str) -> Selector:
    return compile_selector(xpath=source)


def when(source: str) -> tuple[Condition, ...]:
    return (Condition(css(source)),)


def sign(source: str, strength: Strength = Strength.PROOF) -> Pattern:
    selector = css(source)
    return Pattern(Signal.SELECTOR, strength, "", selector=selector, literals=selector.literals)


def host(name: str) -> Pattern:
    return Pattern(Signal.HOST, Strength.PROOF, "", value=name)


def text_field(name: str, *sources: str, kind: FieldKind = FieldKind.TEXT) -> Field:
    return Field(name, kind, tuple(map(css, sources)))


def article(*fields: Field, item: str = "article") -> Extract:
    return Extract("article", "article", (css(item),), fields or (text_field("body", ".body"),))


def comments(*fields: Field, identity: Identity) -> Extract:
    return Extract("comments", "comment", (css(".comment"),), fields, many=True, identity=identity)


def links(name: str, to: str, *sources: str, when_none: tuple[str, ...] = ()) -> Navigate:
    return Navigate(name, to, tuple(LinkSource(css(source)) for source in sources), when_none)


def level(
    name: str, condition: str, *actions: Action, role: Role = "terminal", variants: tuple[Variant, ...] = ()
) -> PageLevel:
    return PageLevel(name, role, when(condition), actions=actions, variants=variants)


def paged_level(name: str, condition: str, *actions: Action, paging: Paging) -> PageLevel:
    rule = UrlRule(PathGlob("**"))
    return PageLevel(name, "terminal", when(condition), actions=actions, addresses=(rule,), paging=(paging,))


def application(name: str, *levels: PageLevel, patterns: tuple[Pattern, ...] = ()) -> Application:
    return Application(name, "blog", patterns or (sign(f"#{name}-sign"),), levels)


def helper_of(*applications: Application, watchdog: Watchdog | None = None) -> ApplicationAwareHelper:
    return ApplicationAwareHelper(KnowledgeBase(applications), watchdog=watchdog)


def assist(application: Application, markup: str, url: str = "http://site.test/page") -> Assistance:
    """Read one page of an application that its pages need not show a sign of."""
    shown = f'<html><body><i id="{application.name}-sign"></i>{markup}</body></html>'
    return helper_of(application).assist(html_page(url, shown))
