"""A first draft of an application's file: it loads, it reads the pages it was made from, and others of the site."""

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.editor.drafting.begin import Begun, Wish, begin, lines_of
from aahcrawler.editor.drafting.draft import DraftError
from aahcrawler.editor.drafting.level_plans import TERMS, Given, plan_levels
from aahcrawler.editor.drafting.pattern_drafting import Known, signs
from aahcrawler.editor.drafting.url_generalisation import avoided, paging_of, shape_of
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import generic
from aahcrawler.urls import canonicalize
from knowledge_base.model import KnowledgeBase
from knowledge_base.url_rules import Paging, ParsedUrl
from tests.authoring.tinyforum import BOARD, FORM, POSTS, SITE, TOPIC, topic
from tests.helper.saved_pages import html_page, plain, saved_pages
from tests.shipped import shipped

PARAGRAPH = "Boil the wheat for an hour, drain it, and let it rest until the next morning in a cool place. " * 8
ARTICLE = f"""<html><head><title>Wheat beer | Brewing</title><meta name="generator" content="Quillpress"></head>
<body class="qp single-story"><header><h1><a href="/">Brewing</a></h1></header>
<article class="story" id="story-wheat-beer"><h2 class="headline">Wheat beer</h2>
<p class="byline">by <a rel="author" href="/people/ines">Ines</a>,
<time datetime="2023-05-04T10:00:00Z">May 4</time></p>
<div class="prose"><p>{PARAGRAPH}</p></div></article></body></html>"""


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Begun:
    return begin(Wish("TinyForum", "web-forum"), Given((TOPIC,)), (tmp_path_factory.mktemp("kb"),))


@pytest.mark.slow
def test_the_draft_reads_the_page_it_was_made_from(begun: Begun) -> None:
    assistance = ApplicationAwareHelper(begun.knowledge_base).assist(TOPIC)
    assert assistance.match is not None
    assert assistance.match.level is not None
    assert (assistance.match.application.name, assistance.match.level.name) == ("TinyForum", "thread")
    assert [plain(item) for item in assistance.objects] == [
        {
            "iri": f"{SITE}/topic.php?id=7#entry-{number}",
            "type": "reply" if place else "post",
            "title": None if place else "Wet ropes",
            "author": author,
            "date": f"2024-02-{day}T{time}:00+00:00",
            "body": text,
            "part_of": f"{SITE}/topic.php?id=7",
        }
        for place, (number, _, author, (day, time), text) in enumerate(
            (number, user, author, (date[:2], date[-5:]), text) for number, user, author, date, text in POSTS
        )
    ]
    followed = {link.url: link.action for link in assistance.document.outlinks}
    assert followed[f"{SITE}/topic.php?id=7&page=3"] == "more-pages"
    assert {link.url.rpartition("/")[2].partition("?")[0] for link in assistance.refused} >= {"login.php", "print.php"}


@pytest.mark.slow
def test_other_pages_of_the_site_are_told_apart(begun: Begun) -> None:
    helper = ApplicationAwareHelper(begun.knowledge_base)
    board, form = helper.assist(BOARD), helper.assist(FORM)
    assert board.match is not None
    assert board.match.level is not None
    assert board.match.level.name == "forum"
    chosen = {link.url for link in board.document.outlinks if link.action == "to-thread"}
    assert chosen == {f"{SITE}/topic.php?id=7", f"{SITE}/topic.php?id=8"}
    assert form.match is not None
    assert (form.match.application.name, form.match.level) == ("TinyForum", None)


def test_posts_of_another_page_are_found_by_the_same_expressions(begun: Begun) -> None:
    posts = tuple((n, 40 + n, f"Somebody{n}", f"{n}.3.2024 08:00", f"{n}: {POSTS[0][4]}") for n in range(11, 31))
    page = html_page(f"{SITE}/topic.php?id=12&page=2", topic(posts=posts))
    objects = ApplicationAwareHelper(begun.knowledge_base).assist(page).objects
    assert [item.iri for item in objects] == [f"{SITE}/topic.php?id=12#entry-{n}" for n in range(11, 31)]
    assert {item.type for item in objects} == {"reply"}


def test_every_guess_is_marked_and_nothing_is_cited_as_proven(begun: Begun) -> None:
    written = begun.file.read_text(encoding="utf-8")
    cites = re.findall(r'cite="([^"]*)"', written)
    assert cites
    assert all(cite.startswith("unproven: ") for cite in cites)
    for tag in ("pattern", "when", "address", "paging", "navigate", "extract", "identity", "field"):
        for place in re.finditer(rf"<{tag} ", written):
            assert "<!-- guess: " in written[: place.start()].rpartition("\n")[0].splitlines()[-1], tag
    assert knots_free(written)


def knots_free(written: str) -> bool:
    """Whether nothing but words for people names the site: a draft is for the software."""
    rules = re.sub(r'<about>.*?</about>|<!--.*?-->|cite="[^"]*"', "", written, flags=re.DOTALL)
    return "knots" not in rules


def test_what_comes_next_is_said(begun: Begun) -> None:
    told = "\n".join(lines_of(begun, TOPIC.url))
    assert "objects: 3" in told
    assert re.search(r"^\d\d places are marked", told, re.MULTILINE)
    assert f"aah kb explain {TOPIC.url}" in told
    assert "--application tinyforum" in told


@pytest.mark.slow
def test_a_blog_has_one_article_a_page(tmp_path: Path) -> None:
    page = html_page("http://brew.example/2023/05/wheat-beer/", ARTICLE)
    begun = begin(Wish("Quillpress", "blog"), Given((page,)), (tmp_path,))
    helper = ApplicationAwareHelper(begun.knowledge_base)
    other = html_page("http://ale.example/2024/11/porter/", ARTICLE.replace("heat beer", "orter").replace("wheat", "p"))
    for each, title in ((page, "Wheat beer"), (other, "Worter")):
        (item,) = helper.assist(each).objects
        assert plain(item)["title"] == title
        assert plain(item)["author"] == "Ines"
        assert plain(item)["date"] == "2023-05-04T10:00:00+00:00"
        assert (plain(item)["body"] or "").startswith("Boil the")
    assert "wheat" not in re.sub(r"<!--.*?-->|<about>.*?</about>", "", begun.file.read_text(encoding="utf-8"))


def test_known_applications_are_not_written_again(tmp_path: Path) -> None:
    known = next(saved for saved in saved_pages() if saved.expected.application == "phpBB" and saved.expected.level)
    with pytest.raises(DraftError, match=r"known already: phpBB.*--site"):
        begin(Wish("Other", "web-forum"), Given((known.page,)), (tmp_path,))
    with pytest.raises(DraftError, match="a file for phpBB already"):
        begin(Wish("phpBB", "web-forum"), Given((TOPIC,)), (tmp_path,))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_file_for_one_site_is_recognised_by_its_host(tmp_path: Path) -> None:
    begun = begin(Wish("Knots", "web-forum", site=True), Given((TOPIC,)), (tmp_path,))
    assert begun.knowledge_base.application("Knots").hosts == ("knots.example",)
    match = ApplicationAwareHelper(begun.knowledge_base).assist(TOPIC).match
    assert match is not None
    assert match.application.name == "Knots"


def test_nothing_is_written_without_signs_or_content_or_over_a_file(tmp_path: Path) -> None:
    empty = html_page(f"{SITE}/x", "<html><body><p></p></body></html>")
    with pytest.raises(DraftError, match="nothing that looks like content"):
        begin(Wish("Bare", "blog"), Given((empty,)), (tmp_path,))
    with pytest.raises(DraftError, match="answers 404"):
        begin(Wish("TinyForum", "web-forum"), Given((replace(TOPIC, status=404),)), (tmp_path,))
    with pytest.raises(DraftError, match="no kind forum"):
        begin(Wish("TinyForum", "forum"), Given((TOPIC,)), (tmp_path,))
    (tmp_path / "applications").mkdir()
    (tmp_path / "applications" / "tinyforum.xml").write_text("mine")
    with pytest.raises(DraftError, match="is there already"):
        begin(Wish("TinyForum", "web-forum"), Given((TOPIC,)), (tmp_path,))
    assert (tmp_path / "applications" / "tinyforum.xml").read_text() == "mine"


@pytest.mark.slow
def test_the_command_says_what_to_mend(tmp_path: Path) -> None:
    file = tmp_path / "saved.html"
    file.write_bytes(TOPIC.body)
    kb = ["--kb", str(tmp_path / "kb")]
    result = CliRunner().invoke(app, ["kb", "new", "TinyForum", "--from", str(file), *kb])
    assert (result.exit_code, "--url" in result.output) == (2, True)
    (tmp_path / "kb" / "applications").mkdir(parents=True)
    result = CliRunner().invoke(app, ["kb", "new", "TinyForum", "--from", str(file), "--url", TOPIC.url, *kb])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "kb" / "applications" / "tinyforum.xml").is_file()


def test_signs_of_known_applications_are_no_signs() -> None:
    knowledge_base: KnowledgeBase = shipped()
    page = html_page(
        f"{SITE}/x", '<html><head><meta name="generator" content="WordPress 6"></head><body id="phpbb">x</body></html>'
    )
    assert signs((page,), Known(knowledge_base, ())) == ()
    assert signs((TOPIC,), Known(knowledge_base, ()))[0].attributes == (("generator", "TinyForum"),)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.test/b/topic.php?id=7", {"path": "**/topic.php", "parameters": "id"}),
        ("http://a.test/2024/05/wet-ropes/", {"path": "/#/#/*/"}),
        ("http://a.test/wet-ropes.html", {"path": "/*.html"}),
        ("http://a.test/forum/topic/12-wet-ropes", {"path": "**/forum/topic/#-*"}),
        ("http://a.test/index.php?/topic/12-wet-ropes/", {"path": "**/index.php", "query": "/topic/#-*/"}),
    ],
)
def test_shapes_fit_their_addresses(url: str, expected: dict[str, str]) -> None:
    shape = shape_of(ParsedUrl.parse(url))
    assert shape.attributes() == expected
    assert shape.rule.matches(ParsedUrl.parse(url))


@given(
    st.lists(st.text(max_size=12), max_size=4),
    st.dictionaries(st.text(max_size=6), st.text(max_size=12), max_size=3),
    st.booleans(),
)
def test_shapes_of_any_address_fit_it_and_can_be_written(
    parts: list[str], parameters: dict[str, str], raw: bool
) -> None:
    query = quote("/".join(parts)) if raw else urlencode(parameters)
    url = canonicalize(f"http://a.test/{'/'.join(map(quote, parts))}?{query}")
    assert url is not None
    address = ParsedUrl.parse(url)
    shape = shape_of(address)
    assert shape.rule.matches(address), shape
    written = etree.Element("url", shape.attributes())
    assert set(" ".join(written.attrib.values())).isdisjoint("\"'<>\t\n")


@pytest.mark.slow
def test_hostile_pages_are_drafted_or_refused(tmp_path: Path) -> None:
    body = (
        topic()
        .replace('class="entry"', 'class="entry &quot;\'&lt;!-- --&gt;"')
        .replace("TinyForum 2.1", "Tiny\x01--'\"Forum")
    )
    body = body.replace("/tinyforum/tiny.js", "/a'b--&quot;/x&lt;y.js").replace(
        "Wet ropes", "--> &amp;lt;!ENTITY -- Wet"
    )
    begun = begin(Wish("Tiny --> Forum", "web-forum"), Given((html_page(TOPIC.url, body),)), (tmp_path,))
    assert len(ApplicationAwareHelper(begun.knowledge_base).assist(begun.pages[0]).objects) == len(POSTS)


def test_page_numbers_are_recognised_in_parameters_and_paths() -> None:
    for here, there, expected in (
        ("topic.php?id=7", "topic.php?id=7&page=2", Paging(parameter="page")),
        ("t/wet-ropes.7/", "t/wet-ropes.7/page-2", Paging(part="/page-#")),
        ("2024/wet/", "2024/wet/page/2/", Paging(part="/page/#")),
    ):
        page = html_page(
            f"{SITE}/{here}", f'<a href="/{there}">2</a> <a href="/{there}0">next</a> <a href="/other">2</a>'
        )
        assert paging_of(ParsedUrl.parse(page.url), generic.links(page)) == (expected,), there


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "other"),
    [
        ("thread-7.html", "thread-7-2.html", "thread-8-2.html"),
        ("index.php?t=7.0", "index.php?t=7.20", "index.php?t=8.20"),
        ("index.php?t=7", "index.php?t=7;start=20", "index.php?t=8;start=20"),
    ],
)
def test_further_pages_are_reached_whose_numbers_look_like_those_of_threads(
    first: str, second: str, other: str, tmp_path: Path
) -> None:
    pager = f'<p class="pages">1 <a href="/{second}">2</a></p>'
    markup = topic().replace('<p><a href="/print', f'{pager}<p><a href="/print')
    page = html_page(f"{SITE}/{first}", re.sub(r'<p class="pages">1 <a href="/topic.*?</p>', "", markup))
    begun = begin(Wish("TinyForum", "web-forum"), Given((page,)), (tmp_path,))
    application = begun.knowledge_base.application("TinyForum")
    for path in (first, second, other):
        level = application.level_of(ParsedUrl.parse(f"{SITE}/{path}"))
        assert level is not None, path
        assert level.name == "thread"
    links = ApplicationAwareHelper(begun.knowledge_base).assist(page).document.outlinks
    assert "further-pages" in {link.action for link in links if link.url == f"{SITE}/{second}"}


@pytest.mark.parametrize(("kind", "avoided_there"), [("web-forum", True), ("social-network", False), ("blog", False)])
def test_pages_of_people_are_avoided_where_they_hold_no_content(kind: str, avoided_there: bool) -> None:
    urls = [f"{SITE}/user/{number}/{name}/" for number, name in ((1, "ada"), (2, "bo"))]
    assert bool(avoided(urls, (), (), TERMS[kind].useful)) is avoided_there


def test_what_is_avoided_spares_content() -> None:
    urls = [
        f"{SITE}/{path}"
        for path in ("login.php", "index.php?action=login;x=1", "topic.php?id=3", "topic.php?id=3&sort=up")
    ]
    content = shape_of(ParsedUrl.parse(f"{SITE}/topic.php?id=3"))
    rules = avoided(urls, [content], [f"{SITE}/topic.php?id=3"])
    assert [(rule.reason.value, rule.shape.attributes()) for rule in rules] == [
        ("login", {"path": "**/index.php", "parameters": "action=login*"}),
        ("login", {"path": "**/login.php"}),
        ("sort-order", {"path": "**/topic.php", "parameters": "sort", "absent": "offset p page paged pg start"}),
    ]


def test_pages_whose_titles_are_longer_or_shorter_are_of_one_level() -> None:
    pages = tuple(html_page(f"{SITE}/archives/{name}.html", "<p>x</p>") for name in ("21-Using-Wet-Ropes", "98-Ropes"))
    (article,) = (level for level in plan_levels(Given(pages), TERMS["blog"]).levels if level.terminal)
    assert article.pages == pages
