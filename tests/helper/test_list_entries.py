"""What documents made of lists hold: the entries with the text around their links, and what stands beside them."""

import pytest

from aahcrawler.helper import ApplicationAwareHelper, Assistance
from knowledge_base.model import KnowledgeBase
from online_analysis.document import Document, Outlink
from tests.helper.saved_pages import html_page
from tests.shipped import shipped

STORIES = (
    (
        "frost",
        "Frost on the pier",
        "The planks were white before anybody had gone to bed, and the gulls stayed inland.",
    ),
    (
        "barge",
        "A barge in the ice",
        "Nine days it lay there with forty tons of coal, until the tug came round the head.",
    ),
    ("swans", "Forty swans", "The keeper counted them twice on Sunday and wrote the number on the wall of the tower."),
)
LONG = "The harbour master wrote down the level of the water every morning before the church bell rang. " * 30


def read(url: str, head: str, body: str, known: KnowledgeBase | None = None) -> Assistance:
    page = html_page(url, f"<html><head><title>Notes</title>{head}</head>{body}</html>")
    return ApplicationAwareHelper(known if known is not None else shipped()).assist(page)


def link(document: Document, path: str) -> Outlink:
    return next(each for each in document.outlinks if each.url.endswith(path))


def role_of(document: Document, each: Outlink) -> str:
    return document.parts[each.part].role if each.part is not None else ""


def text_of(document: Document, role: str) -> str:
    return "\n".join(part.text for part in document.parts if part.role == role)


def wordpress(more: str = "") -> Document:
    entries = "".join(
        f"""<article id="post-{name}" class="post hentry"><header class="entry-header"><h2 class="entry-title"><a
href="/2024/01/{name}/" rel="bookmark">{title}</a></h2></header><div class="entry-content"><p>{text}</p>{more}</div>
<footer class="entry-footer"><span class="cat-links">Filed under <a href="/category/{name}-watch/">{name} watch</a>
</span></footer></article>"""
        for name, title, text in STORIES
    )
    found = read(
        "http://blog.test/category/winter/page/2/",
        '<meta name="generator" content="WordPress 6.1">',
        f"""<body class="archive category paged"><header class="site-header"><h2>Harbour notes</h2><nav><ul>
<li class="menu-item"><a href="/about/">About us</a></li></ul></nav></header><main id="content">
<h1 class="page-title">Category: Winter</h1><div class="archive-description"><p>All that froze.</p></div>{entries}
<nav class="pagination"><a href="/category/winter/page/3/">Older posts</a></nav></main>
<aside class="widget-area"><ul><li><a href="/2023/01/tide/">A very high tide</a></li><li><a href="/2023/02/storm/">Storm
over the pier</a></li></ul></aside><footer class="site-footer"><p>All rights reserved</p></footer></body>""",
    )
    assert found.match is not None
    assert found.match.level is not None
    assert found.match.level.name == "archive"
    assert found.objects == ()
    return found.document


def test_an_archive_of_wordpress_keeps_its_excerpts_each_with_its_link() -> None:
    document = wordpress()
    lines = text_of(document, "navigation").split("\n")
    assert len(lines) == len(STORIES)
    for line, (name, title, text) in zip(lines, STORIES, strict=True):
        assert line.startswith(f"{title} {text}")
        assert f"{name} watch" in line
        entry = link(document, f"/{name}/")
        assert (entry.anchor, entry.context, role_of(document, entry)) == (title, line, "navigation")


def test_what_stands_beside_the_entries_is_kept_and_boilerplate_is_not() -> None:
    document = wordpress()
    assert document.rest == "Category: Winter\nAll that froze."
    for beside in ("About us", "All rights reserved", "Older posts"):
        assert beside not in document.text
    assert "A very high tide" in text_of(document, "sidebar")
    assert "A very high tide" not in text_of(document, "navigation")


def test_entries_that_show_whole_posts_are_kept_in_paragraphs() -> None:
    document = wordpress(f"<p>{LONG}</p>")
    assert document.text.count("church") == 30 * len(STORIES)
    assert max(map(len, text_of(document, "navigation").split("\n"))) <= 1_000
    barge = link(document, "/barge/")
    assert barge.context.startswith("A barge in the ice Nine days it lay there")
    assert "Forty swans" not in barge.context


WIKI = '<meta name="generator" content="MediaWiki 1.39.1">'


def wiki(title: str, classes: str, content: str) -> Assistance:
    heading = f'<div id="content" class="mw-body" role="main"><h1 id="firstHeading">{title}</h1>'
    footer = '<div id="footer" role="contentinfo"><p>Privacy policy of the wiki</p></div>'
    body = f'<body class="mediawiki {classes} action-view"><div id="mw-navigation" role="navigation"><p>Go to</p></div>'
    return read(f"http://wiki.test/wiki/{title}", WIKI, f"{body}{heading}{content}</div>{footer}</body>")


def test_a_category_of_a_wiki_keeps_its_introduction_and_its_members() -> None:
    members = "".join(f'<li><a href="/wiki/{name}">{title}</a></li>' for name, title, _ in STORIES)
    document = wiki(
        "Category:Winter",
        "ns-14 ns-subject",
        f"""<div id="mw-content-text"><p>Pages on what froze, and on when it thawed.</p><div id="mw-pages"><h2>Pages in
category "Winter"</h2><div class="mw-category-group"><h3>A</h3><ul>{members}</ul></div></div></div>""",
    ).document
    assert "Pages on what froze, and on when it thawed." in document.rest.split("\n")
    for name, title, _ in STORIES:
        entry = link(document, f"/wiki/{name}")
        assert (entry.context, role_of(document, entry)) == (title, "navigation")
    assert "Privacy policy" not in document.text


def test_a_page_of_a_wiki_of_which_the_actions_find_little_keeps_its_words() -> None:
    rows = "".join(
        f"<tr><td>{title}</td><td>Room {number}</td></tr>" for number, (_, title, _) in enumerate(STORIES * 9)
    )
    found = wiki("Winter", "ns-0 ns-subject", f'<div id="mw-content-text"></div><table class="portal">{rows}</table>')
    assert found.match is not None
    assert found.match.level is not None
    assert found.match.level.name == "article"
    assert found.document.text.count("Forty swans") == 9
    assert "Privacy policy" not in found.document.text


MARKED = (
    '<meta property="og:type" content="article"><meta property="article:published_time" content="2024-01-02T08:00Z">'
)


@pytest.mark.parametrize("head", ["", MARKED], ids=["plain", "calls itself an article"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_further_page_of_a_list_of_no_known_application_is_no_article(head: str, number: int) -> None:
    entries = "".join(
        f'<h2><a href="/p/{name}">{title}</a></h2><p>{text}</p>' for name, title, text in STORIES[:number]
    )
    paging = '<div class="pagination"><a href="/page/1">Newer</a><a href="/page/3">Older</a></div>'
    found = read("http://site.test/page/2", head, f"<body><div>{entries}{paging}</div></body>", KnowledgeBase(()))
    assert found.objects == ()
    for name, title, text in STORIES[:number]:
        assert title in found.document.text
        assert text in found.document.text
        assert link(found.document, f"/p/{name}").part is not None


def test_an_article_below_the_headlines_of_others_is_an_article() -> None:
    headlines = "".join(f'<h3><a href="/p/{name}">{title}</a></h3>' for name, title, _ in STORIES)
    body = f"<body><main><h1>The register</h1>{headlines}<div><p>{LONG}</p><p>{LONG}</p></div></main></body>"
    found = read("http://site.test/register", MARKED, body, KnowledgeBase(()))
    assert [each.type for each in found.objects] == ["article"]


def test_a_list_of_no_known_application_keeps_its_teasers_each_with_its_link() -> None:
    cards = "".join(
        f"""<div class="card"><a href="/p/{name}">{title}</a><div>{text}</div><span>12 views</span></div>"""
        for name, title, text in STORIES * 2
    )
    menu = '<nav><a href="/about">About us</a></nav>'
    document = read("http://site.test/list", "", f"<body>{menu}<div>{cards}</div></body>", KnowledgeBase(())).document
    for name, title, text in STORIES:
        assert text in document.text
        assert link(document, f"/p/{name}").context.startswith(title)
    assert "About us" not in document.text


def test_a_list_in_which_no_action_finds_an_entry_leads_where_its_entries_lead() -> None:
    entries = "".join(
        f'<tr><td><a href="/winter/{name}.html">{title}</a></td><td>{text}</td></tr>' for name, title, text in STORIES
    )
    found = read(
        "http://blog.test/category/winter/",
        '<meta name="generator" content="WordPress 6.1">',
        '<body class="archive"><nav><p class="menu-item"><a href="/about/">About us</a></p></nav>'
        f'<table>{entries}</table><a href="/wp-login.php">Log in to write for these pages</a></body>',
    )
    paths = {each.url.removeprefix("http://blog.test") for each in found.document.outlinks}
    assert {f"/winter/{name}.html" for name, _, _ in STORIES} <= paths
    assert "/wp-login.php" not in paths
    assert all(text in found.document.text for _, _, text in STORIES)
