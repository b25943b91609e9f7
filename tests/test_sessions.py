from hypothesis import example, given
from hypothesis import strategies as st

from aahcrawler.urls import canonicalize, without_session

HEX = "0123456789abcdef0123456789abcdef"

DROPPED = {
    f"http://a.test/index.php?PHPSESSID={HEX};topic=12.0": "http://a.test/index.php?topic=12.0",
    f"http://a.test/?PHPSESSID={HEX}": "http://a.test/",
    f"http://a.test/?zenid={HEX}&zenid={HEX}&f=2": "http://a.test/?f=2",
    "http://a.test/shop;jsessionid=0A1B2C3D4E.node1/cart?x=1": "http://a.test/shop/cart?x=1",
    "http://a.test/view?jsessionid=0A1B2C3D4E.node1": "http://a.test/view",
    "http://a.test/(S(lit3py55t21z5v55vlm25s55))/page.aspx": "http://a.test/page.aspx",
    "http://a.test/app/(X(1)S(lit3py55t21z5v55vlm25s55))/page.aspx": "http://a.test/app/page.aspx",
    "http://a.test/index.cfm?CFID=123456&CFTOKEN=87654321&page=2": "http://a.test/index.cfm?page=2",
    "http://a.test/shop/?osCsid=8f14e45fceea167a5a36dedd4bea2543": "http://a.test/shop/",
}

KEPT = (
    "http://a.test/?s=solar+power",
    "http://a.test/?sid=17",
    f"http://a.test/article.php?sid={HEX}",
    f"http://a.test/find?s={HEX}",
    "http://a.test/list.php?cfid=12",
    "http://a.test/talk?session=opening-of-the-conference-2024",
    "http://a.test/sessions/?sessionid=monday",
    f"http://a.test/file?hash={HEX}",
    "http://a.test/?",
    "http://a.test/a;b=c?x;y",
)


def test_ids_that_documented_software_writes_are_dropped() -> None:
    for url, without in DROPPED.items():
        assert without_session(url) == without


def test_what_merely_has_such_a_name_stays() -> None:
    for url in KEPT:
        assert without_session(url) == url


IDS = (f"zenid={HEX}", f"CFID={HEX}", "CFTOKEN=12", ";jsessionid=AB12CD34", "(S(abc123))/")
PIECES = st.lists(st.sampled_from(["a", "?", "&", ";", "/", "x=1", *IDS]))


@given(PIECES)
@example(["?", f"zenid={HEX}", "&", f"zenid={HEX}"])
def test_dropping_twice_changes_nothing_and_canonical_urls_stay_canonical(pieces: list[str]) -> None:
    url = canonicalize("http://a.test/" + "".join(pieces))
    assert url is not None
    once = without_session(url)
    assert without_session(once) == once
    assert canonicalize(once) == once
