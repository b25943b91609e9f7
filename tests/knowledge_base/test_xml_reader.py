"""Everything the format has becomes values of the model."""

from pathlib import Path

import pytest

from knowledge_base.model import Application, Condition, Extract, FieldKind, Navigate, Signal
from knowledge_base.selectors import Selector, css_to_xpath
from knowledge_base.url_rules import ParsedUrl
from tests.knowledge_base.full_application import FULL, load_texts


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Application:
    return load_texts(tmp_path_factory.mktemp("full"), FULL).application("Full")


def sources(selectors: tuple[Selector, ...]) -> list[str]:
    return [selector.source for selector in selectors]


def condition_source(condition: Condition) -> str:
    assert condition.selector is not None
    return condition.selector.source


def navigate(application: Application, level: str, name: str) -> Navigate:
    action = next(action for action in application.level(level).actions if action.name == name)
    assert isinstance(action, Navigate)
    return action


def extract(application: Application, level: str, name: str) -> Extract:
    action = next(action for action in application.level(level).actions if action.name == name)
    assert isinstance(action, Extract)
    return action


def test_listings_count_their_pages_and_are_taken_over_by_files_that_extend(full: Application, tmp_path: Path) -> None:
    pages, index = full.listings
    assert (pages.kind, pages.oldest_first, pages.is_paged, pages.when_none) == ("sitemap", True, True, ("more",))
    assert [pages.reference(page) for page in (1, 2, 3)] == ["map-0.xml", "map-50.xml", "map-100.xml"]
    assert (index.kind, index.reference(1), index.is_paged) == ("page", "/list", False)
    special = """<application name="Special" kind="wiki" extends="Full">
      <detect><pattern host="special.example" strength="proof"/></detect>{listings}
    </application>"""
    own = '<listings><listing name="own" kind="feed" address="all.xml"/></listings>'
    for number, (listings, names) in enumerate((("", ["pages", "index"]), (own, ["own"]))):
        folder = tmp_path / str(number)
        folder.mkdir()
        loaded = load_texts(folder, FULL, special.format(listings=listings))
        assert [each.name for each in loaded.application("Special").listings] == names


def test_hosts_are_as_in_canonical_urls_and_need_no_literal(full: Application) -> None:
    assert full.hosts == ("wiki.example",)
    assert next(pattern for pattern in full.patterns if pattern.signal is Signal.HOST).literals == ()
    assert full.whole_host


@pytest.mark.parametrize(
    ("written", "host"),
    [
        ("*.Forum.example", "*.forum.example"),
        ("b&#252;cher.example", "xn--bcher-kva.example"),
        ("127.0.0.1:8080", "127.0.0.1:8080"),
        ("www.a.example", "a.example"),
    ],
)
def test_hosts_in_other_forms(tmp_path: Path, written: str, host: str) -> None:
    text = FULL.replace('host="www.Wiki.Example"', f'host="{written}"')
    assert load_texts(tmp_path, text).application("Full").hosts == (host,)


def test_signs_of_pages_for_a_browser_and_links_to_ignore(full: Application) -> None:
    (sign,) = full.needs_browser
    assert condition_source(sign) == css_to_xpath("#app")
    assert sign.rule is not None
    assert sign.rule.present == (("view", "app"),)
    assert sources(full.ignored) == [css_to_xpath("a.unwritten")]


def test_address_rules_look_at_numbers_and_at_the_query(full: Application) -> None:
    def level(url: str) -> str | None:
        address = full.canonical(ParsedUrl.parse(url))
        found = full.level_of(address)
        return found.name if found else None

    assert level("http://a.test/index.php?list/12-birds") == "list"
    assert level("http://a.test/index.php?list/12-birds&page=2") == "list"
    assert level("http://a.test/index.php?list/12-birds&from=30") == "list"
    assert level("http://a.test/index.php?list/12-birds&sort=up") is None
    assert level("http://a.test/index.php?list/birds-12") is None
    refusal = full.refusal(ParsedUrl.parse("http://a.test/w/index.php?edit/birds&x=1"))
    assert refusal is not None
    assert refusal.reason == "edit"


def test_requests_and_forms(full: Application) -> None:
    action = navigate(full, "list", "more")
    (request,) = action.requests
    assert request.address == "/api.php?list=all&from={next}&search={word}"
    assert [condition_source(sign) for sign in request.when] == [css_to_xpath("#app")]
    following, word = request.fillers
    assert (following.name, following.parameter, following.text, following.add) == ("next", "from", "0", 20)
    assert (word.name, word.icd, word.each, following.each) == ("word", "keywords", True, False)
    (form,) = action.forms
    assert form.selector.source == css_to_xpath("form.search")
    assert [(filler.name, filler.icd, filler.each) for filler in form.fillers] == [("q[]", "entities", True)]


def test_a_value_can_stand_in_the_page(tmp_path: Path) -> None:
    text = FULL.replace('parameter="from" text="0"', 'css="a.next" attribute="data-from" text="0"')
    application = load_texts(tmp_path, text).application("Full")
    (value, _) = navigate(application, "list", "more").requests[0].fillers
    assert [(selector.source, selector.attribute) for selector in value.selectors] == [
        (css_to_xpath("a.next"), "data-from")
    ]


def test_an_address_can_begin_with_one_that_the_page_gives(tmp_path: Path) -> None:
    text = FULL.replace("/api.php?list=all&amp;from={next}", "{next}Special:Export/")
    application = load_texts(tmp_path, text).application("Full")
    assert navigate(application, "list", "more").requests[0].address.startswith("{next}Special:")


def test_runs_and_fields(full: Application) -> None:
    action = extract(full, "talk", "comments")
    assert action.run is not None
    assert sources(action.run.blocks) == [css_to_xpath("p"), css_to_xpath("dl")]
    assert sources(action.run.signature) == [css_to_xpath("a.user")]
    assert sources(action.run.stops) == [css_to_xpath("h2")]
    assert action.identity is not None
    assert (action.identity.fields, action.identity.selectors) == (("author", "date"), ())
    fields = {field.name: field for field in action.fields}
    assert (fields["body"].join, fields["body"].markup, fields["date"].join, fields["date"].markup) == (
        True,
        True,
        False,
        False,
    )
    assert (fields["title"].declared, fields["title"].selectors) == (("headline", "name"), ())


def test_a_variant_replaces_what_it_says_and_keeps_the_rest(full: Application) -> None:
    level = full.level("talk")
    (variant,) = level.variants
    assert (variant.name, [condition_source(sign) for sign in variant.when]) == ("second", [css_to_xpath(".second")])
    assert [action.name for action in variant.actions] == ["comments", "lists", "others", "feeds", "pages"]
    changed, lists, others, feeds, pages = variant.actions
    before = extract(full, "talk", "comments")
    assert isinstance(changed, Extract)
    assert (changed.type, changed.many, changed.run, changed.identity, changed.parent, changed.instead) == (
        before.type,
        before.many,
        before.run,
        before.identity,
        before.parent,
        before.instead,
    )
    assert sources(changed.items) == [css_to_xpath("#second")]
    assert [(field.name, sources(field.selectors)) for field in changed.fields] == [
        ("author", [css_to_xpath("a.user")]),
        ("date", [css_to_xpath(".when")]),
        ("body", [css_to_xpath("*")]),
        ("title", []),
        ("tags", [css_to_xpath(".tag")]),
    ]
    assert changed.fields[1].date.order is None
    assert changed.fields[1].kind is FieldKind.DATETIME
    assert isinstance(lists, Navigate)
    assert [source.selector.source for source in lists.sources] == [css_to_xpath("nav a")]
    assert (lists.to, lists.when_none, lists.sources[0].documented) == ("list", ("others",), False)
    assert others is navigate(full, "talk", "others")
    assert isinstance(feeds, Navigate)
    assert [request.address for request in feeds.requests] == ["?feed=1"]
    assert pages is navigate(full, "list", "pages")


def test_the_level_itself_is_as_without_variants(full: Application, tmp_path: Path) -> None:
    start, end = FULL.index("    <variant"), FULL.index("</variant>") + len("</variant>\n")
    alone = load_texts(tmp_path, FULL[:start] + FULL[end:]).application("Full")
    assert [action.name for action in full.level("talk").actions] == [
        action.name for action in alone.level("talk").actions
    ]
    assert sources(extract(full, "talk", "comments").items) == sources(extract(alone, "talk", "comments").items)


def test_attributes_given_in_a_variant_replace_those_of_the_level(tmp_path: Path) -> None:
    run = FULL[FULL.index("      <run>") : FULL.index("      <identity")]
    given = 'type="page" first-type="comment" many="no" always="yes"'
    text = FULL.replace(run, "").replace('<extract name="comments">', f'<extract name="comments" {given}>')
    application = load_texts(tmp_path, text).application("Full")
    before, changed = extract(application, "talk", "comments"), application.level("talk").variants[0].actions[0]
    assert isinstance(changed, Extract)
    assert (before.type, before.first_type, before.many, before.always) == ("comment", "", True, False)
    assert (changed.type, changed.first_type, changed.many, changed.always) == ("page", "comment", False, True)
