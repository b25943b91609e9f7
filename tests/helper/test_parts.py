"""How pages are split into parts, and in which of them their links stand."""

import pytest

from aahcrawler.helper import ApplicationAwareHelper
from knowledge_base.model import Application, Field, FieldKind, Identity, KnowledgeBase
from online_analysis.document import Document, Outlink
from tests.helper.building import application, article, assist, comments, css, level, links, text_field, xpath
from tests.helper.saved_pages import html_page
from tests.pace import at_most

WORDS = "The harbour froze in the second week of January and people walked across it to the lighthouse. "
SIDEBAR = """<div class="sidebar"><div class="widget"><h3>Recent</h3><ul>
<li><a href="/posts/storm">Storm over the pier</a></li><li><a href="/posts/tide">A very high tide</a></li></ul></div>
<div class="widget"><h3>Tags</h3><a href="/tag/ice">ice</a><a href="/tag/sea">sea</a></div>
<div class="ads"><ul><li><a href="/buy/1">Buy skates</a></li><li><a href="/buy/2">Buy boots</a></li></ul></div></div>"""
MENU = '<nav><ul><li><a href="/">Home</a></li><li><a href="/about">About us</a></li></ul></nav>'
FOOTER = '<footer><p>All rights reserved. <a href="/terms">Terms of use</a></p></footer>'


def blog() -> Application:
    written = (text_field("body", ".body"), Field("author", FieldKind.PERSON, (css(".by"),)))
    post = level(
        "post",
        ".post",
        article(*written, item=".post"),
        comments(*written, identity=Identity((xpath("@id"),))),
        links("recent", "post", ".sidebar li a"),
        links("menu", "list", "nav a"),
    )
    listing = level(
        "list",
        ".list",
        links("entries", "post", "h2 a"),
        links("older", "list", ".pagination a"),
        links("tags", "list", ".sidebar div > a"),
        role="intermediate",
    )
    return application("blog", post, listing)


def known(markup: str) -> Document:
    return assist(blog(), markup).document


def unknown(markup: str, url: str = "http://site.test/page") -> Document:
    page = html_page(url, f"<html><head><title>Ice</title></head><body>{markup}</body></html>")
    return ApplicationAwareHelper(KnowledgeBase(())).assist(page).document


def roles(document: Document) -> list[str]:
    return [part.role for part in document.parts]


def link(document: Document, path: str) -> Outlink:
    return next(each for each in document.outlinks if each.url == f"http://site.test{path}")


def part_text(document: Document, path: str) -> str | None:
    part = link(document, path).part
    return document.parts[part].text if part is not None else None


POST = f"""{MENU}<div class="post"><div class="by">Ada</div><div class="body"><p>{WORDS}
<a href="http://else.test/ice">More on ice</a></p></div></div>
<div class="comment" id="c1"><i class="by">Bo</i><p class="body">I was there.</p></div>{SIDEBAR}{FOOTER}"""


def test_a_page_of_a_known_application_has_posts_and_sidebars() -> None:
    document = known(POST)
    assert roles(document) == ["content", "content", "sidebar", "sidebar"]
    assert [part.author for part in document.parts] == ["Ada", "Bo", "", ""]
    assert document.parts[0].text == f"{WORDS}More on ice"
    assert document.parts[2].text == "Recent\nStorm over the pier\nA very high tide"
    assert (document.application, document.kind, document.level) == ("blog", "blog", "post")


def test_links_of_a_post_stand_in_it_and_those_of_a_sidebar_in_that() -> None:
    document = known(POST)
    (outward,) = [each for each in document.outlinks if each.url == "http://else.test/ice"]
    assert (outward.part, outward.action, outward.leads_to) == (0, None, None)
    recent = link(document, "/posts/storm")
    assert (recent.part, recent.action, recent.leads_to) == (2, "recent", "terminal")
    about = link(document, "/about")
    assert (about.part, about.action, about.leads_to) == (None, "menu", "intermediate")
    assert about.place == "html/body/nav/ul/li/a"


def test_no_text_of_menus_footers_and_advertising_is_in_any_part() -> None:
    for document in (known(POST), unknown(POST.replace("post", "text"))):
        text = " ".join(part.text for part in document.parts)
        for dropped in ("About us", "All rights reserved", "Terms of use", "Buy skates"):
            assert dropped not in text
        assert "walked across" in text


LISTING = f"""{MENU}<div class="list"><h2><a href="/posts/ice">How the harbour froze</a></h2><p>{WORDS}</p>
<h2><a href="/posts/thaw">How it thawed again</a></h2><p>It took three days.</p>
<div class="pagination"><a href="/list/2">2</a><a href="/list/3">3</a></div></div>{SIDEBAR}"""


def test_entries_of_a_list_are_navigation_and_its_sidebars_are_not() -> None:
    document = known(LISTING)
    assert roles(document) == ["navigation", "sidebar", "sidebar"]
    assert "How it thawed again It took three days." in document.parts[0].text
    assert link(document, "/posts/ice").part == link(document, "/posts/thaw").part == 0
    assert part_text(document, "/tag/ice") == "Tags\nice\nsea"
    assert link(document, "/list/2").part is None
    assert link(document, "/list/2").leads_to == "intermediate"


def test_the_last_of_several_sidebars_is_kept_where_another_is_dropped() -> None:
    sidebar = SIDEBAR.replace("widget", "ads", 1)
    assert [part.text for part in known(POST.replace(SIDEBAR, sidebar)).parts[2:]] == ["Tags\nice\nsea"]


def test_a_list_that_is_called_a_sidebar_is_the_list_all_the_same() -> None:
    document = known('<div class="sidebar list"><h2><a href="/a">Ice</a></h2><h2><a href="/b">Thaw</a></h2></div>')
    assert [(part.role, part.text) for part in document.parts] == [("navigation", "Ice\nThaw")]
    assert link(document, "/a").part == 0


def test_a_page_without_sidebars_has_none() -> None:
    document = known('<div class="post"><div class="body">Cold.</div></div>')
    assert roles(document) == ["content"]
    assert document.rest == ""


ARTICLE = f"""{MENU}<main><article><h1>Ice</h1><p>By <a rel="author" href="/ada">Ada</a>,
<time datetime="2024-01-14">14 January 2024</time></p><p>{WORDS * 3}</p><p>{WORDS * 2}It is
<a href="/posts/walk">a walk of an hour</a>. {WORDS}</p><p>{WORDS * 3}</p></article></main>
<aside><h3>See also</h3><ul><li><a href="/posts/storm">Storm over the pier</a></li>
<li><a href="/posts/tide">A very high tide</a></li></ul></aside>{FOOTER}"""


def test_an_article_of_an_unknown_application_is_one_part_beside_its_sidebars() -> None:
    document = unknown(ARTICLE)
    assert roles(document) == ["content", "sidebar"]
    assert link(document, "/posts/walk").part == 0
    assert part_text(document, "/posts/tide") == "See also\nStorm over the pier\nA very high tide"
    assert link(document, "/about").part is None
    assert link(document, "/terms").part is None
    assert document.application == document.kind == document.level == ""


def thread(posts: int) -> str:
    names = ("Ada", "Bo", "Cy", "Dana", "Ed", "Flo")
    return "".join(
        f"""<div class="message" id="m{n}"><div class="name"><a href="/user/{n}">{names[n]}</a></div>
        <time datetime="2024-01-1{n}T10:00:00Z">1{n} January 2024</time>
        <div class="said"><p>{WORDS} {names[n]} saw it on day {n}, <a href="http://else.test/{n}">here</a>.</p></div>
        </div>"""
        for n in range(posts)
    )


def test_posts_of_an_unknown_application_are_a_part_each() -> None:
    document = unknown(f"{MENU}<h1>Ice</h1><div class='thread'>{thread(6)}</div>{FOOTER}")
    contents = [part for part in document.parts if part.role == "content"]
    assert [part.author for part in contents] == ["Ada", "Bo", "Cy", "Dana", "Ed", "Flo"]
    for number in range(6):
        (found,) = [each for each in document.outlinks if each.url == f"http://else.test/{number}"]
        assert found.part is not None
        assert f"day {number}," in document.parts[found.part].text


def test_entries_of_an_unknown_list_are_navigation() -> None:
    entries = "".join(
        f'<li><a href="/posts/{n}">What happened on day number {n}</a> <span>{n} views</span></li>' for n in range(8)
    )
    document = unknown(f"{MENU}<main><h1>Winter</h1><ul>{entries}</ul></main>{SIDEBAR}", "http://site.test/list")
    assert "content" not in roles(document) or link(document, "/posts/3").part is not None
    assert "day number 3" in (part_text(document, "/posts/3") or "")
    assert part_text(document, "/tag/sea") == "Tags\nice\nsea"


@pytest.mark.parametrize("tag", ["ul", "ol"])
def test_all_entries_of_an_index_are_its_text_though_many_lead_to_one_page(tag: str) -> None:
    entries = "".join(f'<li><a href="/manual/{n % 2}#entry{n}">harbour entry {n}</a>, page {n}</li>' for n in range(30))
    document = unknown(f"{MENU}<h1>Index</h1><{tag}>{entries}</{tag}>{FOOTER}", "http://site.test/index")
    lines = [line for line in document.text.split("\n") if "harbour" in line]
    assert [line.removeprefix(f"{n + 1}. ") for n, line in enumerate(lines)] == [
        f"harbour entry {n}, page {n}" for n in range(30)
    ]
    assert "About us" not in document.text


def test_what_stands_beside_the_entries_of_a_list_is_kept_as_often_as_it_is_shown() -> None:
    entries = "".join(f'<li><a href="/posts/{n}">What happened later, on day {n}</a></li>' for n in range(20))
    text = f"<h1>Ice</h1><p>{WORDS}</p><h2>The pier</h2><p>{WORDS}</p>"
    document = unknown(f"{MENU}{text}<ul><li><a href='/pier'>The pier</a></li>{entries}</ul>{FOOTER}")
    lines = document.text.split("\n")
    assert lines.count("The pier") == lines.count(WORDS.strip()) == 2
    assert sum("What happened later" in line for line in lines) == 20


def test_a_single_post_that_looks_like_an_entry_is_content() -> None:
    post = thread(1).replace('<div class="said">', '<div class="said"><h3><a href="/posts/0">Ice</a></h3>')
    document = unknown(f"{MENU}<div class='thread'>{post}</div>{FOOTER}")
    assert any(part.role == "content" and "walked across it" in part.text for part in document.parts)


def test_each_part_has_text_and_each_link_stands_in_a_part_there_is() -> None:
    for document in (known(POST), known(LISTING), unknown(POST), unknown(LISTING), unknown(ARTICLE), unknown("")):
        assert all(part.text.strip() for part in document.parts)
        numbers = {each.part for each in document.outlinks} - {None}
        assert numbers <= set(range(len(document.parts)))


def test_links_that_the_page_hides_are_told() -> None:
    document = unknown(f'<p>{WORDS}</p><div style="display:none"><a href="/x">Skates</a></div><a href="/y">Boots</a>')
    assert [link(document, path).hidden for path in ("/x", "/y")] == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile",
    [
        "".join(
            f'<div class="widget"><ul><li><a href="/{n}">a</a><li><a href="/b{n}">b</a></ul></div>'
            for n in range(1_000)
        ),
        "<aside><div class='ads'>" * 300 + '<a href="/a">a</a>' + "</div><a href='/n'>n</a></aside>" * 300,
        "<aside><div class='ads'><a href='/a'>a</a>" * 300 + "<p>x</p>" * 2_500,
        f'<div class="post"><div class="body">{"<p>x</p>" * 2_500}</div></div>' + '<a href="/z">z</a>' * 2_500,
        "".join(f"<h2><a href='/h{n}'>Ice {n}</a></h2><p>{WORDS}</p>" for n in range(700)),
        "".join(f"<p>{n} <a href='/p{n}'>{WORDS}</a></p>" for n in range(700)),
    ],
    ids=["blocks", "alternating", "nested", "long post", "headings", "paragraphs"],
)
def test_hostile_pages_stay_bounded(hostile: str) -> None:
    with at_most(1.5):
        document = known(f'<div class="list"></div>{hostile}')
        assert sum(len(part.text) for part in document.parts) < 1_400_000
    with at_most(3):
        document = unknown(hostile)
        assert sum(len(part.text) for part in document.parts) < 1_400_000


CHAPTERS = "".join(
    f'<li><a href="/c/{n}">Chapter {n}</a><ul><li><a href="/c/{n}a">Ice</a></li><li><a href="/c/{n}b">Mud</a></li></ul>'
    for n in range(60)
)


@pytest.mark.parametrize("around", ["{}", MENU + "{}" + FOOTER])
def test_a_list_of_contents_behind_a_short_introduction_is_text_of_the_page(around: str) -> None:
    intro = f"<h1>The book of the harbour</h1><p>{WORDS * 3}</p><p>{WORDS * 2}</p>"
    contents = f'<div class="contents"><ul>{CHAPTERS}</ul></div>'
    document = unknown(around.format(f'<div class="body" role="main"><section>{intro}{contents}</section></div>'))
    assert "Chapter 39" in document.text
    assert document.text.count("Chapter 17") == 1
    assert "All rights reserved" not in document.text


def test_an_article_beside_menus_and_footers_that_are_longer_has_nothing_more() -> None:
    menu = f"<nav><ul>{CHAPTERS}</ul></nav>"
    document = unknown(f"{menu}<article><h1>Ice</h1><p>{WORDS * 8}</p></article>{FOOTER}")
    assert "Chapter" not in document.rest
    assert "All rights" not in document.text


@pytest.mark.slow
def test_the_text_that_a_document_lacks_is_bounded() -> None:
    rows = "".join(f"<tr><td>{n}</td><td>{WORDS}</td></tr>" for n in range(2_000))
    with at_most(8):
        document = unknown(f"<h1>Ice</h1><p>{WORDS * 5}</p><table>{rows}</table>")
    assert len(document.rest) <= 20_000
