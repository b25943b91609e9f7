"""URLs of posted forms: what was posted stands in them, and nothing else reads as such a URL."""

from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.frontier.hops import Hop
from aahcrawler.urls import FORM_HOP, PostedForm, canonicalize, is_reserved, posted_by, posted_form_url

values = st.text("abz019+%._-", max_size=8)
queries = st.lists(st.tuples(st.text("abz_", min_size=1, max_size=4), values), min_size=1, max_size=4).map(
    lambda entries: "&".join(f"{name}={value}" for name, value in entries)
)


@given(st.sampled_from(["http://a.test/x.php", "http://a.test/x.php?f=1"]), queries)
def test_what_a_form_sends_is_read_back(target: str, body: str) -> None:
    form = PostedForm(target, body)
    url = posted_form_url(form)
    assert posted_by(url) == form
    assert is_reserved(url)
    assert not is_reserved(target)


def test_other_urls_are_of_no_form() -> None:
    for url in (
        "http://a.test/",
        "http://a.test/?__wb_method=PUT&a=1",
        "http://a.test/__wb_method=POST&a",
        "http://a.test/?x__wb_method=POST&a",
    ):
        assert posted_by(url) is None


def test_their_url_is_canonical() -> None:
    url = "http://a.test/search.php?__wb_method=POST&q=storm+surge&in=all"
    assert canonicalize(url) == url


def test_the_hop_is_the_frontiers() -> None:
    assert Hop.FORM.value == FORM_HOP
