"""Rules of the scope: and, or, not, over what is known of a URL."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.frontier.hops import LETTERS
from aahcrawler.scope import ExternalUrl, Scope
from aahcrawler.urls import queue_of
from online_analysis.icd import Icd, IcdError
from online_analysis.icd.scoping import HOPS, Facts, Rule, ScopeRules, hops_off_site
from online_analysis.media_types import type_by_url
from tests.online_analysis.definitions import with_lines
from tests.pace import at_most

SEED = "https://forum.example.org/"


def facts(url: str = SEED, **known: object) -> Facts:
    return Facts(url, at_seeds=queue_of(url) == "example.org", **known)  # type: ignore[arg-type]


def refuses(condition: object, known: Facts) -> bool:
    return ScopeRules([Rule.model_validate({"refuse": condition})]).refusal(known) is not None


@pytest.mark.parametrize(
    ("condition", "known", "expected"),
    [
        ({"url": "/calendar/"}, facts(SEED + "Calendar/1"), True),
        ({"url": ["/a/", "/b/"]}, facts(SEED + "b/"), True),
        ({"site": "seeds"}, facts(), True),
        ({"site": ["seeds", "example.net"]}, facts("http://www.example.net/"), True),
        ({"site": "example.net"}, facts(), False),
        ({"depth": "at most 3"}, facts(depth=3), True),
        ({"depth": "more than 3"}, facts(depth=3), False),
        ({"depth": "= 3"}, facts(depth=3), True),
        ({"off_site": "> 2"}, facts(path="LlllRr"), False),
        ({"off_site": "> 2"}, facts(path="Lllrll"), True),
        ({"path": "*F*"}, facts(path="LFL"), True),
        ({"path": ["F*", "[LN]?"]}, facts(path="NR"), True),
        ({"path": "L"}, facts(path="l"), False),
        ({"via": "/links"}, facts(via="http://a.test/links.html"), True),
        ({"via": "/links"}, facts(), False),
        ({"type": "video/*"}, facts(SEED + "a.mp4"), True),
        ({"type": "application/pdf"}, facts(SEED + "a.mp4", media_type="application/pdf"), True),
        ({"language": ["de", "en"]}, facts(language="de-AT"), True),
        # Several conditions in one are all asked for; so are those of `all`.
        ({"url": "/a/", "depth": "< 2"}, facts(SEED + "a/", depth=2), False),
        ({"all": [{"url": "/a/"}, {"depth": "< 2"}]}, facts(SEED + "a/", depth=1), True),
        ({"any": {"url": "/a/", "depth": "< 2"}}, facts(SEED + "a/", depth=2), True),
        ({"any": [{"url": "/b/"}, {"depth": "< 2"}]}, facts(SEED + "a/", depth=2), False),
        ({"not": {"url": "/a/"}}, facts(SEED + "a/"), False),
        ({"not": {"any": [{"url": "/b/"}, {"not": {"depth": "= 0"}}]}}, facts(), True),
    ],
)
def test_conditions(condition: object, known: Facts, expected: bool) -> None:
    assert refuses(condition, known) is expected


@pytest.mark.parametrize(
    "condition",
    [
        {"language": "en"},
        {"not": {"language": "en"}},
        {"not": {"type": "application/pdf"}},
        {"all": [{"site": "seeds"}, {"type": "text/html"}]},
        {"not": {"any": [{"language": "en"}, {"url": "/nowhere/"}]}},
    ],
)
def test_what_is_not_known_refuses_nothing(condition: object) -> None:
    assert not refuses(condition, facts())
    required = ScopeRules([Rule.model_validate({"require": condition})])
    assert required.refusal(facts()) is None


def test_what_is_not_known_does_not_matter_where_the_rest_decides() -> None:
    assert refuses({"any": [{"language": "en"}, {"site": "seeds"}]}, facts())
    assert not refuses({"language": "en", "site": "example.net"}, facts())


TRUTH = st.sampled_from([True, False, None])


def said(truth: bool | None) -> dict[str, object]:
    """Return a condition that has this truth for German of unknown type."""
    if truth is None:
        return {"type": "text/html"}
    return {"language": "de" if truth else "en"}


@given(TRUTH, TRUTH)
def test_and_or_and_not_are_those_of_kleene(one: bool | None, other: bool | None) -> None:
    known, both = facts(language="de"), [said(one), said(other)]
    assert refuses({"all": both}, known) is (one is True and other is True)
    assert refuses({"any": both}, known) is (one is True or other is True)
    assert refuses({"not": {"all": both}}, known) is (one is False or other is False)
    assert refuses({"not": {"any": both}}, known) is (one is False and other is False)


RULES = (
    "scope:",
    "  sites: anywhere",
    "  rules:",
    "    - name: near",
    "      require: {any: [{site: seeds}, {off_site: at most 2}]}",
    "    - refuse: {type: video/*}",
)


def test_a_refusal_has_the_name_of_its_rule() -> None:
    scope = Scope(with_lines(*RULES))
    assert scope.admit(ExternalUrl("http://a.test/", "a.test", path="ll")) is None
    assert scope.admit(ExternalUrl("http://a.test/", "a.test", path="lll")) == "rule:near"
    assert scope.admit(ExternalUrl("http://a.test/b.mp4", "a.test", path="l")) == "rule:rule 2"


def test_what_a_page_needs_to_be_shown_is_bound_by_what_is_refused_only() -> None:
    scope = Scope(with_lines(*RULES))
    assert scope.admit(ExternalUrl("http://a.test/b.css", "a.test", 0, "requisite", "", "llle")) is None
    assert scope.admit(ExternalUrl("http://a.test/b.mp4", "a.test", 0, "requisite", "", "llle")) == "rule:rule 2"


def test_answers_are_judged_by_their_type() -> None:
    scope, page = Scope(with_lines(*RULES)), ExternalUrl(SEED + "watch?v=1", "example.org")
    assert scope.asks_type
    assert scope.admit(page) is None
    assert scope.admit_type(page, "video/mp4") == "rule:rule 2"
    assert scope.admit_type(page, "text/html") is None
    assert not Scope(with_lines()).asks_type


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        (["- {name: a, refuse: {ulr: x}}"], 9, "scope.rules[0].refuse.ulr: is no field of an ICD; write `url`"),
        (["- refuse: {url: x}", "  require: {url: x}"], 9, "says both; write `refuse:` or `require:`"),
        (["- name: a"], 9, "says neither what it refuses nor what it requires"),
        (["- refuse:", "    not: {}"], 10, "asks for nothing; write a condition such as"),
        (["- refuse:", "    all:", "      - depth: 3"], 11, "depth: is no bound; write `at most 3`"),
        (["- refuse: {any: []}"], 9, "is an empty list"),
        (["- refuse: {path: X}"], 9, "is no pattern of hops; write letters of LNRIEOSFDM"),
        (["- refuse: {type: jpeg}"], 9, "is no media type; write for example application/pdf"),
        (["- refuse: {url: a b}"], 9, "the pattern holds a space"),
        (["- {name: a, refuse: {url: x}}", "- {name: a, refuse: {url: y}}"], 8, "two rules with the name 'a'"),
        (["- {name: all, refuse: {site: seeds}}"], 4, "seeds[0]: is refused by a rule of scope.rules (all)"),
    ],
)
def test_mistakes_name_their_line_and_what_to_do(lines: list[str], line: int, words: str) -> None:
    text = "\n".join(["id: a", "contact: a@b.org", "seeds:", f"  - {SEED}", "topic:", "  keywords: [sun]", "scope:"])
    with pytest.raises(IcdError) as raised:
        Icd.parse("\n".join([text, "  rules:", *(f"    {each}" for each in lines)]).encode())
    said = "\n".join(map(str, raised.value.mistakes))
    assert words in said
    assert said.startswith(f"icd.yaml:{line}:")


def test_rules_survive_being_written_and_read() -> None:
    icd = with_lines(*RULES, "    - refuse: {not: {any: {url: x, depth: less than 7}}}")
    assert Icd.parse(icd.to_yaml().encode()).meaning() == icd.meaning()


def test_a_url_is_judged_in_microseconds() -> None:
    nested: object = {"url": "/nowhere/"}
    for _ in range(5):
        nested = {"not": {"any": [nested, {"depth": "more than 9"}, {"path": "*S*F*D*"}, {"site": "example.net"}]}}
    rules, known = ScopeRules([Rule.model_validate({"refuse": nested})]), facts(path="LNlR" * 16, depth=3)
    with at_most(1000 * 200e-6):
        for _ in range(1000):
            rules.refusal(known)


@pytest.mark.parametrize(
    ("url", "media_type"),
    [
        ("http://a.test/x.pdf", "application/pdf"),
        ("http://a.test/x.PDF?y=1#z", "application/pdf"),
        ("http://a.test/x.tar.gz", "application/gzip"),
        ("http://a.test/wiki/Datei%3ATurm.jpg", None),
        ("http://a.test/x.pdf/view", None),
        ("http://a.test/.pdf", None),
        ("http://a.test/x.html", None),
        ("http://a.test/x.php", None),
        ("http://zip.zip", None),
        ("http://a.zip/", None),
    ],
)
def test_addresses_tell_their_type_only_where_that_is_sure(url: str, media_type: str | None) -> None:
    assert type_by_url(url) == media_type


def test_the_hops_of_rules_are_those_of_the_frontier() -> None:
    assert frozenset(HOPS + HOPS.lower()) == LETTERS


@given(st.text("LlRrEe", max_size=64))
def test_hops_off_site_are_counted_from_the_end(path: str) -> None:
    off = hops_off_site(path)
    assert 0 <= off <= path.count("l")
    assert hops_off_site(path + "L") == 0
    assert hops_off_site(path + "l") == off + 1
    assert hops_off_site(path + "r") == off
