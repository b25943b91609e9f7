import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.scope import ExternalUrl, Refusal, Scope
from aahcrawler.urls import queue_of
from online_analysis.url_patterns import UrlPattern, UrlPatternError
from tests.online_analysis.definitions import with_lines


def judge(url: str, *lines: str, depth: int = 0) -> str | None:
    return Scope(with_lines(*lines)).admit(ExternalUrl(url, queue_of(url), depth))


@pytest.mark.parametrize(
    ("url", "refusal"),
    [
        ("https://forum.example.org/x", None),
        ("http://blog.example.org/", None),
        ("https://example.com/", Refusal.OTHER_SITE),
        ("https://forum.example.org.evil.com/", Refusal.OTHER_SITE),
        ("ftp://forum.example.org/", Refusal.SCHEME),
        ("https://forum.example.org/" + "x" * 5000, Refusal.TOO_LONG),
    ],
)
def test_by_default_the_sites_of_the_seeds_are_crawled(url: str, refusal: Refusal | None) -> None:
    assert judge(url) is refusal


@pytest.mark.parametrize(
    ("url", "refusal"),
    [
        ("https://example.com/news/1", None),
        ("https://forum.example.org/news/", None),
        ("https://example.com/sport/1", Refusal.NOT_ALLOWED),
        ("https://example.com/news/?PRINT=1", Refusal.DENIED),
        ("https://www.bad.test/news/", Refusal.SPAM),
    ],
)
def test_anywhere_is_bounded_by_patterns(url: str, refusal: Refusal | None) -> None:
    lines = (
        "scope: {sites: anywhere, allow: ['*/news/*', 'forum.'], deny: ['print=']}",
        "scoring: {spam_hosts: [bad.test]}",
    )
    assert judge(url, *lines) is refusal


def test_depth_counts_links_from_a_seed() -> None:
    url = "https://forum.example.org/x"
    assert judge(url, "scope: {depth: 2}", depth=2) is None
    assert judge(url, "scope: {depth: 2}", depth=3) is Refusal.TOO_DEEP
    assert judge(url, "scope: {depth: 0}", depth=1) is Refusal.TOO_DEEP


def test_requisites_may_lie_elsewhere_unless_denied() -> None:
    scope = Scope(with_lines("scope: {allow: [forum], deny: [/ads/], depth: 0}", "scoring: {spam_hosts: [bad.test]}"))

    def admit(url: str) -> str | None:
        return scope.admit(ExternalUrl(url, queue_of(url), 1, "requisite"))

    assert admit("https://cdn.example.com/a.css") is None
    assert admit("https://cdn.example.com/ads/a.css") is Refusal.DENIED
    assert admit("https://bad.test/a.css") is Refusal.SPAM
    assert admit("data:text/css,x") is Refusal.SCHEME


def test_languages_bind_links_of_pages_whose_language_is_known() -> None:
    scope, link = (
        Scope(with_lines("scope: {languages: [de]}")),
        ExternalUrl("https://forum.example.org/x", "example.org"),
    )
    assert scope.admit(link, "de") is None
    assert scope.admit(link, "de-AT") is None
    assert scope.admit(link) is None
    assert scope.admit(link, "en") is Refusal.LANGUAGE
    assert Scope(with_lines()).admit(link, "en") is None


@pytest.mark.parametrize(
    ("pattern", "url", "matches"),
    [
        ("*://a.test/*", "https://a.test/", True),
        ("*://a.test/*", "https://b.test/?u=http://a.test", False),
        ("http*.pdf", "https://a.test/x.PDF", True),
        ("http*.pdf", "https://a.test/x.pdf?y", False),
        ("*a*a*", "http://b.test/a", False),
        ("*a*a*", "http://b.test/aa", True),
        ("*ab*bc", "http://x/abc", False),
        ("http://a/*/b", "http://a/b", False),
        ("print.php", "http://a.test/print.php?x", True),
        ("?x=", "http://a.test/?x=1", True),
        ("host:a.test", "http://www.a.test:8080/", True),
        ("host:A.test", "http://ba.test/a.test", False),
        ("host:bücher.test", "http://xn--bcher-kva.test/", True),
        ("*://bücher.test/ä*", "http://xn--bcher-kva.test/%C3%A4b", True),
    ],
)
def test_patterns_name_sets_of_urls(pattern: str, url: str, matches: bool) -> None:
    assert UrlPattern.parse(pattern).matches(url) is matches


@pytest.mark.parametrize(
    "text", ["", "*", "**", "a b", "host:", "host:a/b", "host:http://a", "host:*.a.test", "x" * 3000]
)
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(UrlPatternError):
        UrlPattern.parse(text)


@given(
    st.lists(st.text("ab/", max_size=3), min_size=2, max_size=5),
    st.lists(st.text("ab/", max_size=3), min_size=4, max_size=4),
)
def test_a_glob_matches_whatever_fills_its_gaps(pieces: list[str], fillings: list[str]) -> None:
    pieces[0] += "http"
    filled = "".join(
        piece + filling for piece, filling in zip(pieces, [*fillings[: len(pieces) - 1], ""], strict=False)
    )
    assert UrlPattern.parse("*".join(pieces)).matches(filled)


@given(st.text(max_size=40), st.text(max_size=60))
def test_any_text_is_a_pattern_or_is_refused(text: str, path: str) -> None:
    try:
        pattern = UrlPattern.parse(text)
    except UrlPatternError as error:
        assert str(error)  # noqa: PT017 - either outcome is right
        return
    assert pattern.matches("http://a.test/" + path) in {True, False}


def test_a_pattern_of_allow_names_the_words_that_it_has_and_no_others() -> None:
    scope = Scope(with_lines('scope: {allow: ["example.org", "host:a.test", "*/newreply.php*"]}'))
    assert scope.names("http://a.test/newreply.php?t=3", "newreply")
    assert not scope.names("http://a.test/login.php", "login"), "the host as a whole says nothing of it"
