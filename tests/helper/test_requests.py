"""Addresses that stand nowhere on a page: made of values, and of forms filled in."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.html import HtmlElement, document_fromstring

from aahcrawler.helper.links.page_links import anchor_text
from aahcrawler.helper.links.requests import (
    MAX_CONTROLS,
    MAX_REQUESTS,
    MAX_VALUE_LENGTH,
    FormSubmission,
    NotSentError,
    Requests,
    address,
    submission,
)
from aahcrawler.helper.site_memory import site_of
from aahcrawler.page import Headers, Page
from aahcrawler.page.text import plain_text
from aahcrawler.urls import DocumentBase
from knowledge_base.model import Condition, Filler, Form, Navigate, RequestTemplate
from knowledge_base.selectors import compile_selector
from knowledge_base.url_rules import PathGlob, UrlRule

HERE = "http://a.test/f/list?page=3"
FORM = compile_selector(css="form")


def page(body: str = "", url: str = HERE, content_type: str = "text/html; charset=utf-8") -> Page:
    moment = datetime(2026, 11, 21, tzinfo=UTC)
    return Page(url, 200, Headers((("Content-Type", content_type),)), body.encode(), moment)


def asked(on: Page, *requests: RequestTemplate, values: Mapping[str, tuple[str, ...]] | None = None) -> list[str]:
    return [made.url for made in Requests(on, values or {}).of(Navigate("ask", "answer", requests=requests))]


def sent(
    on: Page, *fillers: Filler, values: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[list[str], list[str]]:
    requests = Requests(on, values or {})
    found = [made.url for made in requests.of(Navigate("look", "found", forms=(Form(FORM, fillers),)))]
    return found, [unsent.detail for unsent in requests.unsent]


def entries(markup: str) -> list[tuple[str, str]]:
    return list(form_of(markup).entries)


def form_of(markup: str, base: str = HERE) -> FormSubmission:
    tree: HtmlElement = document_fromstring(markup)
    return submission(next(tree.iter("form")), HERE, base)


# Requests


def test_values_come_from_the_page_its_address_and_the_definition() -> None:
    on = page('<a class="n" data-id="7">x</a><b>one  two</b>')
    fillers = (
        Filler("id", (compile_selector(css=".n", attribute="data-id"),)),
        Filler("word", (compile_selector(css="b"),)),
        Filler("next", parameter="page", text="1", add=1),
        Filler("key", icd="keywords"),
    )
    template = RequestTemplate("/api/{id}/{word}?page={next}&q={key}", fillers)
    assert asked(on, template, values={"keywords": ("ice & snow", "tide")}) == [
        "http://a.test/api/7/one%20two?page=4&q=ice%20%26%20snow"
    ]


def test_a_value_that_nothing_gives_is_the_text_or_no_request() -> None:
    first = Filler("next", parameter="start", text="1", add=1)
    assert asked(page(), RequestTemplate("?page={next}", (first,))) == ["http://a.test/f/list?page=2"]
    missing = Filler("id", (compile_selector(css=".none"),))
    assert asked(page(), RequestTemplate("/api/{id}", (missing,))) == []
    assert asked(page(), RequestTemplate("/api/{id}", (Filler("id", icd="entities"),))) == []
    assert asked(page(), RequestTemplate("/api/{id}")) == []


def test_each_value_makes_a_request_and_equal_ones_make_one() -> None:
    on = page("<i>5</i><i>6</i><i>5</i>")
    one = Filler("id", (compile_selector(css="i"),))
    each = Filler("id", (compile_selector(css="i"),), each=True)
    assert asked(on, RequestTemplate("/t/{id}.json", (one,))) == ["http://a.test/t/5.json"]
    assert asked(on, RequestTemplate("/t/{id}.json", (each,))) == ["http://a.test/t/5.json", "http://a.test/t/6.json"]


@pytest.mark.parametrize("value", ["x", "1.5", "", "²", "9" * 30])
def test_nothing_is_added_to_what_is_no_number(value: str) -> None:
    on = page(url=f"http://a.test/?page={value}")
    assert asked(on, RequestTemplate("?page={next}", (Filler("next", parameter="page", add=1),))) == []


def test_one_of_the_signs_must_hold() -> None:
    signs = (Condition(compile_selector(css=".more")), Condition(rule=UrlRule(PathGlob("/f/*"))))
    assert asked(page(), RequestTemplate("/x", when=signs)) == ["http://a.test/x"]
    assert asked(page(), RequestTemplate("/x", when=signs[:1])) == []
    assert asked(page('<p class="more">'), RequestTemplate("/x", when=signs[:1])) == ["http://a.test/x"]


def test_json_gives_values_too() -> None:
    on = page('{"items": [{"id": 4}, {"id": 9}]}', "http://a.test/f/latest.json", "application/json")
    each = Filler("id", (compile_selector(xpath="/json/items/item/id"),), each=True)
    assert asked(on, RequestTemplate("t/{id}.json", (each,))) == [
        "http://a.test/f/t/4.json",
        "http://a.test/f/t/9.json",
    ]


def test_one_page_makes_so_many_requests_and_no_more() -> None:
    on = page("".join(f"<i>{number}</i>" for number in range(3 * MAX_REQUESTS)))
    each = Filler("id", (compile_selector(css="i"),), each=True)
    requests = Requests(on)
    action = Navigate("ask", "answer", requests=(RequestTemplate("/{id}", (each,)),))
    again = Navigate("again", "answer", requests=(RequestTemplate("/again/{id}", (each,)),))
    assert len(list(requests.of(action))) == MAX_REQUESTS
    assert list(requests.of(again)) == []
    crossed = (each, Filler("no", (compile_selector(css="i"),), each=True))
    assert len(asked(on, RequestTemplate("/{id}/{no}", crossed))) == MAX_REQUESTS


@pytest.mark.parametrize(
    "value", ["..", ".", "%2e%2e/x", "../../admin", "a/b?c#d", "//evil.test/", "a" * MAX_VALUE_LENGTH]
)
def test_a_value_stays_where_it_was_put(value: str) -> None:
    on = page(f"<i>{value}</i>")
    made = asked(on, RequestTemplate("/t/{id}/x", (Filler("id", (compile_selector(css="i"),)),)))
    assert all(url.startswith("http://a.test/t/") and url.endswith("/x") and url.count("/") == 5 for url in made)
    assert bool(made) == (set(value) != {"."})


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_value_leads_off_the_site(root: str, value: str) -> None:
    for template in ("{root}/x?y={value}", "/a/{value}/b", "{value}{root}", "?q={value}"):
        made = address(template, {"root": root, "value": value}, HERE)
        assert made is None or site_of(made) == "a.test"


@pytest.mark.parametrize(
    "root", ["http://evil.test/", "//evil.test/", "javascript:x", "ftp://a.test/", "http://a.test:81/"]
)
def test_the_root_that_a_page_names_must_be_its_own(root: str) -> None:
    assert address("{root}wp/v2/posts", {"root": root}, HERE) is None


def test_a_root_can_lie_in_a_folder_or_in_a_query() -> None:
    template = "{root}wp/v2/posts?per_page=9&page=2"
    roots = ["http://a.test/blog/wp-json/", "/wp-json/#top", "http://www.a.test/index.php?rest_route=/"]
    assert [address(template, {"root": root}, HERE) for root in roots] == [
        "http://a.test/blog/wp-json/wp/v2/posts?per_page=9&page=2",
        "http://a.test/wp-json/wp/v2/posts?per_page=9&page=2",
        "http://www.a.test/index.php?rest_route=/wp/v2/posts&per_page=9&page=2",
    ]


def test_what_is_asked_for_is_told_by_the_record_of_a_value_or_the_word() -> None:
    listed = '{"found": [{"id": 4, "title": "Dikes"}, {"id": 9, "by": {"name": "Ida"}, "title": "Knots"}]}'
    each = Filler("id", (compile_selector(xpath="//id"),), each=True)
    action = Navigate("ask", "answer", requests=(RequestTemplate("/{id}", (each,)),))
    subjects = [made.element for made in Requests(page(listed, HERE, "application/json")).of(action)]
    assert [plain_text(subject) for subject in subjects if subject is not None] == ["4 Dikes", "9 Ida Knots"]
    single = Requests(page('{"found": [{"id": 4, "title": "Dikes"}]}', HERE, "application/json"))
    assert [plain_text(made.element) for made in single.of(action) if made.element is not None] == ["4 Dikes"]
    word = Filler("q", icd="keywords", each=True)
    form = Navigate("look", "found", forms=(Form(FORM, (word,)),))
    (made,) = Requests(page("<form><input name=q></form>"), {"keywords": ("storm surge",)}).of(form)
    assert made.element is not None
    assert anchor_text(made.element) == "storm surge"


# Forms


def test_a_form_sends_what_a_browser_would() -> None:
    markup = """<form action="/find?old=1" id="f">
    <input type="hidden" name="h" value="a b"><input name="q"><input name="" value="x"><input value="y">
    <input type="checkbox" name="c" checked><input type="checkbox" name="c" value="no">
    <input type="radio" name="r" value="1"><input type="radio" name="r" value="2" checked>
    <select name="s"><option disabled>0<option> one  two </option><option value="2">x</select>
    <select name="t"><option value="1">a<option value="2" selected>b</select>
    <select name="m" multiple><option selected>A<option>B<option selected value="c">C</select>
    <select name="l" size="4"><option>A</select>
    <textarea name="w">
line
two</textarea>
    <input disabled name="d" value="1"><fieldset disabled><legend><input name="g" value="1"></legend>
    <input name="e" value="1"></fieldset><datalist><input name="k" value="1"></datalist>
    <input type="reset" name="z" value="1"><button type="button" name="z">x</button>
    <button name="go" value="Go">Go</button><input type="submit" name="other" value="1">
    <input type="text" name="_charset_" value="u"><input type="hidden" name="_charset_"></form>
    <input form="f" name="late" value="ü~*">"""
    form = form_of(markup)
    assert list(form.entries) == [
        ("h", "a b"), ("q", ""), ("c", "on"), ("r", "2"), ("s", "one two"), ("t", "2"), ("m", "A"), ("m", "c"),
        ("w", "line\ntwo"), ("g", "1"), ("go", "Go"), ("_charset_", "u"), ("_charset_", "UTF-8"), ("late", "ü~*"),
    ]  # fmt: skip
    assert form.filled({"q": "ice & snow", "c": "x", "new": "1"}) == (
        "http://a.test/find?h=a+b&q=ice+%26+snow&c=x&r=2&s=one+two&t=2&m=A&m=c&w=line%0D%0Atwo&g=1&go=Go"
        "&_charset_=u&_charset_=UTF-8&late=%C3%BC%7E*&new=1"
    )


def test_buttons_can_say_where_and_how() -> None:
    assert entries('<form><input type="image" name="i"></form>') == [("i.x", "0"), ("i.y", "0")]
    button = '<form action="/a" method="post"><button formmethod="get" formaction="/b" name="n" value="1"></form>'
    assert form_of(button).filled({}) == "http://a.test/b?n=1"
    with pytest.raises(NotSentError, match="post"):
        form_of('<form><input type="submit" formmethod="POST"></form>')


def test_a_form_without_action_asks_its_own_page() -> None:
    assert form_of('<form><input name="q"></form>', "http://b.test/").filled({"q": "x"}) == "http://a.test/f/list?q=x"
    assert form_of('<form action="find"></form>', "http://a.test/g/").filled({"q": "x"}) == "http://a.test/g/find?q=x"


@pytest.mark.parametrize("attributes", ['enctype="multipart/form-data"', 'enctype=" Text/Plain "'])
def test_a_form_that_is_posted_otherwise_than_urlencoded_is_not_sent(attributes: str) -> None:
    tree: HtmlElement = document_fromstring(f'<form method="post" {attributes}><input name="q"></form>')
    with pytest.raises(NotSentError, match="it is sent as"):
        submission(next(tree.iter("form")), HERE, HERE, may_post=True)


def test_the_button_says_how_a_form_is_encoded() -> None:
    markup = """<form method="post" enctype="text/plain"><input name="q">
    <button formenctype="application/x-www-form-urlencoded">Find</button></form>"""
    tree: HtmlElement = document_fromstring(markup)
    assert submission(next(tree.iter("form")), HERE, HERE, may_post=True).is_post


@pytest.mark.parametrize(
    ("markup", "reason"),
    [
        ('<form method="post"><input name="q"></form>', "its method is post"),
        ('<form method=" POST "></form>', "its method is post"),
        ('<form method="dialog"></form>', "its method is dialog"),
        ('<form><input name="q"><input type="password" name="p"></form>', "password"),
        ('<form><input type=" FILE "></form>', "password or a file"),
        ('<form action="javascript:go()"></form>', "no URL"),
        ('<form action="http://evil.test/find"></form>', "leads to another site"),
    ],
)
def test_what_is_not_sent_is_said(markup: str, reason: str) -> None:
    found, unsent = sent(page(markup), Filler("q", text="x"))
    assert found == []
    assert len(unsent) == 1
    assert reason in unsent[0]


def test_a_form_takes_every_keyword_of_the_definition() -> None:
    on = page('<form action="/find"><input name="q"><input type="hidden" name="in" value="posts"></form>')
    keyword = Filler("q", icd="keywords", each=True)
    found, unsent = sent(on, keyword, values={"keywords": ("dike", "storm surge")})
    assert found == ["http://a.test/find?q=dike&in=posts", "http://a.test/find?q=storm+surge&in=posts"]
    assert unsent == []
    found, (detail,) = sent(on, keyword, values={"entities": ("Ida",)})
    assert found == []
    assert "there is no value for q" in detail


def test_the_form_around_what_was_found_is_sent_once() -> None:
    requests = Requests(page('<form action="/find"><input name="q"><input name="p"></form><p><input name="r"></p>'))
    form = Form(compile_selector(css="input"), (Filler("q", text="x"),))
    made = requests.of(Navigate("look", "found", forms=(form,)))
    assert [each.url for each in made] == ["http://a.test/find?q=x&p="]


@pytest.mark.parametrize(
    ("attributes", "query"),
    [
        ("", "q=%EC%E0%FF%EA%26%2328023%3B&_charset_=windows-1251"),
        ("accept-charset='nonsense koi8-r utf-8'", "q=%CD%C1%D1%CB%26%2328023%3B&_charset_=KOI8-R"),
        ("accept-charset='nonsense'", "q=%D0%BC%D0%B0%D1%8F%D0%BA%E6%B5%B7&_charset_=UTF-8"),
        ("accept-charset=shift_jis", "q=%84%7D%84p%84%91%84%7B%8AC&_charset_=Shift_JIS"),
    ],
)
def test_a_form_is_sent_in_the_encoding_of_its_document_or_of_its_own(attributes: str, query: str) -> None:
    tree = page(
        f'<form action="/find" {attributes}><input name=q><input type=hidden name=_charset_ value=x></form>'
    ).tree
    found = submission(next(tree.iter("form")), HERE, DocumentBase(HERE, "windows-1251"))
    assert found.filled({"q": "маяк海"}).endswith(f"/find?{query}")


def test_a_form_of_too_many_controls_or_characters_is_cut_or_not_sent() -> None:
    many = "".join(f'<input name="i{number}">' for number in range(2 * MAX_CONTROLS))
    assert len(entries(f'<form id="f">{many}</form><input form="f" name="x">')) == MAX_CONTROLS
    found, (detail,) = sent(page(f'<form><input name="q" value="{"x" * 5_000}"></form>'))
    assert found == []
    assert "too long" in detail


@given(st.text(max_size=60))
def test_no_value_changes_another(value: str) -> None:
    url = FormSubmission("http://a.test/find", (("q", ""), ("in", "posts"))).filled({"q": value})
    assert url.startswith("http://a.test/find?q=")
    assert url.endswith("&in=posts")
    assert url.count("&") == 1
