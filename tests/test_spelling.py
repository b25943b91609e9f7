"""The one spelling of addresses that a definition asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.pipeline.analysis import respelled
from aahcrawler.scope import Spelling
from aahcrawler.urls import canonicalize, queue_of
from online_analysis.document import Document, Outlink
from online_analysis.icd import Icd, IcdError
from online_analysis.icd.scoping import Canonical

DROP = Canonical(drop=("utm_*", "fbclid"))
ALL = Canonical(
    drop=("utm_*", "b"),
    sort=True,
    index=("index.html", "default.aspx"),
    lower_case=("a.org",),
    www={"a.org": "drop", "b.org": "add"},
)


@pytest.mark.parametrize(
    ("wanted", "url", "spelled"),
    [
        (Canonical(), "http://a.test/?b=2&a=1&utm_source=x", "http://a.test/?b=2&a=1&utm_source=x"),
        (Canonical(), "http://a.test/?PHPSESSID=0123456789abcdef", "http://a.test/"),
        (Canonical(sessions="keep"), "http://a.test/?PHPSESSID=0123456789abcdef", None),
        (DROP, "http://a.test/?utm_source=x", "http://a.test/"),
        (DROP, "http://a.test/x?UTM_Source=x&id=1&fbclid=2&y", "http://a.test/x?id=1&y"),
        (DROP, "http://a.test/x?utm%5Fsource=x", "http://a.test/x"),
        (DROP, "http://a.test/x?not_utm_source=x", None),
        (DROP, "http://a.test/x?", "http://a.test/x?"),
        (Canonical(sort=True), "http://a.test/?b=2&a=2&a=1", "http://a.test/?a=2&a=1&b=2"),
        (Canonical(sort=True), "http://a.test/?b=2&a", None),
        (Canonical(index=("index.html",)), "http://a.test/x/INDEX.html", "http://a.test/x/"),
        (Canonical(index=("index.html",)), "http://a.test/index.html?x", None),
        (Canonical(index=("index.html",)), "http://a.test/my-index.html", None),
        (Canonical(index=("a.test",)), "http://a.test/", None),
        (Canonical(lower_case=("a.test",)), "http://b.a.test/X/Y?Z", "http://b.a.test/x/y?Z"),
        (Canonical(lower_case=("a.test",)), "http://b.test/X", None),
        (Canonical(www={"a.test": "drop"}), "https://www.a.test:8443/", "https://a.test:8443/"),
        (Canonical(www={"www.a.test": "drop"}), "https://www.a.test/", "https://a.test/"),
        (Canonical(www={"a.test": "add"}), "https://a.test/", "https://www.a.test/"),
        (Canonical(www={"a.test": "add"}), "https://b.a.test/", None),
    ],
)
def test_addresses_are_spelled_as_asked(wanted: Canonical, url: str, spelled: str | None) -> None:
    assert Spelling(wanted)(url) == (spelled or url)


PIECES = st.lists(st.sampled_from(["utm_x=1", "b=2", "a=1", "B=", "c", "%62=1", "=", "zenid=" + "a1" * 16]), max_size=5)
PATHS = st.text("aB/.%", max_size=6).map(lambda text: f"/{text}".replace("%", "%41"))
HOSTS = st.sampled_from(["a.org", "www.a.org", "b.org", "www.b.org", "b.org:81", "x.a.org"])
ENDS = st.sampled_from(["", "index.html", "/Default.aspx", "/index.html/index.html"])


@given(HOSTS, PATHS, ENDS, PIECES, st.sampled_from([Canonical(), DROP, ALL]))
def test_a_spelling_is_a_url_and_stays(host: str, path: str, end: str, query: list[str], wanted: Canonical) -> None:
    url = canonicalize(f"http://{host}{path}{end}?{'&'.join(query)}")
    assert url is not None
    spelling = Spelling(wanted)
    spelled = spelling(url)
    assert spelling(spelled) == spelled
    assert canonicalize(spelled) == spelled
    assert queue_of(spelled) == queue_of(url)


def test_links_that_become_one_are_one_and_none_leads_to_the_page_itself() -> None:
    page = "http://a.test/page"
    links = [f"{page}?utm_source=self", "http://a.test/x?utm_source=1", "http://a.test/x", "http://a.test/y"]
    document = Document(page, None, "", (), tuple(Outlink(url, url) for url in links))
    found = respelled(document, Spelling(DROP)).outlinks
    assert [(link.url, link.anchor) for link in found] == [("http://a.test/x", links[1]), ("http://a.test/y", links[3])]


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("{drop: ['*']}", "scope.canonical.drop[0]: is no name of a parameter; write a name such as fbclid"),
        ("{drop: ['a=1']}", "is no name of a parameter"),
        ("{index: [/index.html]}", "scope.canonical.index[0]: is no name of a file; write the name alone"),
        ("{www: {'http://a': drop}}", "is no host"),
        ("{www: {a.test: without}}", "is not among the choices; write 'add' or 'drop'"),
        ("{sessions: no}", "write 'drop' or 'keep'"),
        ("{dorp: [x]}", "scope.canonical.dorp: is no field of an ICD; write `drop`"),
    ],
)
def test_mistakes_say_what_to_write(section: str, words: str) -> None:
    text = "id: a\ncontact: a@b.org\nseeds: [http://a.test/]\ntopic: {keywords: [sun]}\nscope:\n"
    with pytest.raises(IcdError) as raised:
        Icd.parse(f"{text}  canonical: {section}\n".encode())
    assert words in str(raised.value)
