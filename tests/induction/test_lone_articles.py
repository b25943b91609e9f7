# ruff: noqa: E501 - markup is as wide as it is written
"""Pages of one article without comments, in the documented templates of publishing software: its titles and nothing else."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from aahcrawler.induction.generic_objects import read_objects
from aahcrawler.induction.headings import page_heading
from aahcrawler.induction.prepared_page import PreparedPage
from aahcrawler.webobject import Person
from tests.page.building import page_of

TITLE, AUTHOR = "The slip below the chapel", "Ann Boyd"
LONG = (
    "The slip was dug by hand in the winter of 1887, when the herring failed and the men had nothing else to do.",
    "Most of the stone came from the quarry behind the church, and the rest was carried over from the island on barges.",
    "It is forty yards long, a little steeper than it should be, and it has never been repaired above the waterline.",
    "Until the railway came, every barrel that left the valley was rolled down here, and the marks are still there.",
    "The first boat to be built on it was the Margaret, which sailed for eleven years and was lost off the cape.",
    "Her model hangs in the chapel, and the children are told that the cook's dog swam home by itself.",
)
SHORT = (LONG[0], "The winch was oiled on Saturday, and it can be turned by two of us again.")

WORDPRESS = """<!DOCTYPE html><html lang=en-US><head><title>{title} – Harbour Notes</title></head>
<body class="post-template-default single single-post postid-71 single-format-standard"><div id=page class=site>
<header id=masthead class=site-header><p class=site-title><a href="/" rel=home>Harbour Notes</a></p>
<nav class=main-navigation><ul><li class=menu-item><a href="/about/">About</a></li><li class=menu-item><a href="/category/boats/">Boats</a></li></ul></nav></header>
<div id=content class=site-content><main id=main class=site-main role=main>
<article id=post-71 class="post-71 post type-post status-publish format-standard hentry category-boats tag-winch tag-chapel">
<header class=entry-header><div class=entry-categories><div class=entry-categories-inner><a href="/category/boats/" rel="category tag">Boats and other vessels</a></div></div>
<h1 class=entry-title>{title}</h1><div class=entry-meta><span class=posted-on>Posted on <a href="/2021/03/slip/" rel=bookmark><time class="entry-date published" datetime="2021-03-02T08:15:00+00:00">March 2, 2021</time></a></span>
<span class=byline> by <span class="author vcard"><a class="url fn n" href="/author/ann/">{author}</a></span></span></div></header>
<div class=entry-content>{text}</div>
<footer class=entry-footer><span class=cat-links>Posted in <a href="/category/boats/" rel="category tag">Boats and other vessels</a></span><span class=tags-links>Tagged <a href="/tag/winch/" rel=tag>winch</a>, <a href="/tag/chapel/" rel=tag>chapel</a></span></footer></article>
<nav class="navigation post-navigation"><h2 class=screen-reader-text>Post navigation</h2><div class=nav-links><div class=nav-previous><a href="/2021/02/shed/" rel=prev><span class=nav-subtitle>Previous:</span> <span class=nav-title>The shed has a roof</span></a></div></div></nav></main></div>
<aside id=secondary class=widget-area><section class="widget widget_recent_entries"><h2 class=widget-title>Recent Posts</h2><ul><li><a href="/2021/03/slip/">{title}</a></li><li><a href="/2021/02/shed/">The shed has a roof</a></li></ul></section></aside>
<footer id=colophon class=site-footer><div class=site-info>Proudly powered by <a href="https://wordpress.org/">WordPress</a></div></footer></div></body></html>"""

BLOCKS = """<!DOCTYPE html><html lang=en-US><head><title>{title} – Harbour Notes</title></head><body class="wp-singular post-template-default single single-post"><div class=wp-site-blocks>
<header class=wp-block-template-part><p class=wp-block-site-title><a href="/">Harbour Notes</a></p></header>
<main class="wp-block-group" id=wp--skip-link--target><div class=wp-block-group><h1 class=wp-block-post-title>{title}</h1>
<div class="wp-block-template-part"><div class=wp-block-group><div class=wp-block-post-date><time datetime="2021-03-02T08:15:00+00:00">Mar 2, 2021</time></div><p class=has-contrast-2-color>—</p><p>by</p><div class=wp-block-post-author-name><a href="/author/ann/" class=wp-block-post-author-name__link>{author}</a></div><div class="taxonomy-category wp-block-post-terms"><span class=wp-block-post-terms__prefix>in </span><a href="/category/boats/" rel=tag>Boats and other vessels</a></div></div></div></div>
<div class="entry-content wp-block-post-content">{text}</div><div class="taxonomy-post_tag wp-block-post-terms"><a href="/tag/winch/" rel=tag>winch</a></div></main>
<footer class=wp-block-template-part><p>Designed with <a href="https://wordpress.org" rel=nofollow>WordPress</a></p></footer></div></body></html>"""

HUGO = """<!DOCTYPE html><html lang=en><head><title>{title} | Harbour Notes</title></head><body class="" id=top><header class=header><nav class=nav><div class=logo><a href="/">Harbour Notes</a></div><ul id=menu><li><a href="/archives/">Archive</a></li><li><a href="/tags/">Tags</a></li></ul></nav></header>
<main class=main><article class=post-single><header class=post-header><div class=breadcrumbs><a href="/">Home</a>&nbsp;»&nbsp;<a href="/posts/">Posts</a></div><h1 class="post-title entry-hint-parent">{title}</h1><div class=post-meta><span title='2021-03-02 08:15:00 +0000 UTC'>March 2, 2021</span>&nbsp;·&nbsp;2 min&nbsp;·&nbsp;{author}</div></header>
<div class=post-content>{text}</div><footer class=post-footer><ul class=post-tags><li><a href="/tags/winch/">winch</a></li><li><a href="/tags/boats/">Boats and other vessels</a></li></ul><nav class=paginav><a class=prev href="/posts/shed/"><span class=title>« Prev</span><br><span>The shed has a roof</span></a></nav></footer></article></main>
<footer class=footer><span>© 2021 <a href="/">Harbour Notes</a></span> <span>Powered by <a href="https://gohugo.io/" rel="noopener noreferrer">Hugo</a></span></footer></body></html>"""

JEKYLL = """<!DOCTYPE html><html lang=en><head><title>{title} | Harbour Notes</title></head><body><header class=site-header role=banner><div class=wrapper><a class=site-title rel=author href="/">Harbour Notes</a><nav class=site-nav><div class=trigger><a class=page-link href="/about/">About</a></div></nav></div></header>
<main class=page-content aria-label=Content><div class=wrapper><article class="post h-entry" itemscope itemtype="http://schema.org/BlogPosting"><header class=post-header><h1 class="post-title p-name" itemprop="name headline">{title}</h1><p class=post-meta><time class=dt-published datetime="2021-03-02T08:15:00+00:00" itemprop=datePublished>Mar 2, 2021</time> • <span itemprop=author itemscope itemtype="http://schema.org/Person"><span class="p-author h-card" itemprop=name>{author}</span></span></p></header>
<div class="post-content e-content" itemprop=articleBody>{text}</div><a class=u-url href="/2021/03/02/slip.html" hidden></a></article></div></main><footer class="site-footer h-card"><div class=wrapper><h2 class=footer-heading>Harbour Notes</h2><p>Write about boats below the chapel.</p></div></footer></body></html>"""

GHOST = """<!DOCTYPE html><html lang=en><head><title>{title}</title></head><body class="post-template tag-boats"><div class=viewport><header id=gh-head class=gh-head><a class=gh-head-logo href="/">Harbour Notes</a></header><div class=site-content><main id=site-main class=site-main>
<article class="article post tag-boats no-image"><header class="article-header gh-canvas"><div class="article-tag post-card-tags"><span class=post-card-primary-tag><a href="/tag/boats/">Boats and other vessels</a></span></div><h1 class=article-title>{title}</h1>
<div class=article-byline><section class=article-byline-content><ul class=author-list><li class=author-list-item><a href="/author/ann/" class=author-avatar></a></li></ul><div class=article-byline-meta><h4 class=author-name><a href="/author/ann/">{author}</a></h4><div class=byline-meta-content><time class=byline-meta-date datetime=2021-03-02>Mar 2, 2021</time><span class=byline-reading-time><span class=bull>—</span> 2 min read</span></div></div></section></div></header>
<section class="gh-content gh-canvas">{text}</section></article></main><section class="footer-cta outer"><div class=inner><h2 class=footer-cta-title>Sign up for more like this.</h2><a class=footer-cta-button href="#/portal"><div>Enter your email</div><span>Subscribe</span></a></div></section>
<aside class="read-more-wrap outer"><div class="read-more inner"><article class="post-card post"><a class=post-card-image-link href="/shed/"></a><div class=post-card-content><a class=post-card-content-link href="/shed/"><header class=post-card-header><h2 class=post-card-title>The shed has a roof</h2></header><div class=post-card-excerpt>It took all summer, and nine of us were on the ladder when the last slate was nailed.</div></a><footer class=post-card-meta><time class=post-card-meta-date datetime=2021-02-02>Feb 2, 2021</time></footer></div></article></div></aside></div></div></body></html>"""

DRUPAL = """<!DOCTYPE html><html lang=en dir=ltr><head><title>{title} | Harbour Notes</title></head><body class="layout-one-sidebar path-node page-node-type-article"><div id=page-wrapper><header id=header role=banner><div class=section><div class=site-branding><a href="/" rel=home>Harbour Notes</a></div></div></header><div id=main-wrapper><main id=content class="column main-content" role=main><section class=section><div class="region region-content"><h1 class="title page-title"><span class="field field--name-title field--type-string field--label-hidden">{title}</span></h1>
<article data-history-node-id=17 role=article class="node node--type-article node--promoted node--view-mode-full clearfix"><header><div class="node__meta"><span>Submitted by <span class="field field--name-uid"><span>{author}</span></span> on <span class="field field--name-created">Tue, 03/02/2021 - 08:15</span></span></div></header>
<div class="node__content clearfix"><div class="clearfix text-formatted field field--name-body field__item">{text}</div><div class="field field--name-field-tags field--type-entity-reference field--label-above clearfix"><h3 class=field__label>Tags</h3><ul class="links field__items"><li><a href="/tags/winch">winch</a></li><li><a href="/tags/boats">Boats and other vessels</a></li></ul></div></div></article></div></section></main></div><footer class=site-footer><div>Powered by <a href="https://www.drupal.org">Drupal</a></div></footer></div></body></html>"""

TEMPLATES: Mapping[str, str] = {
    "WordPress": WORDPRESS,
    "WordPress of blocks": BLOCKS,
    "Hugo": HUGO,
    "Jekyll": JEKYLL,
    "Ghost": GHOST,
    "Drupal": DRUPAL,
}


@pytest.mark.parametrize("lines", [LONG, SHORT, LONG[:1]], ids=["long", "short", "one line"])
@pytest.mark.parametrize("maker", TEMPLATES)
def test_the_one_text_of_a_page_is_an_article_with_the_title_of_its_heading(maker: str, lines: tuple[str, ...]) -> None:
    text = "".join(f"<p>{line}</p>" for line in lines)
    markup = TEMPLATES[maker].format(title=TITLE, author=AUTHOR, text=text)
    (found,) = read_objects(page_of(markup, url="http://site.test/2021/03/slip/")).objects
    assert (found.type, found.first("title"), found.first("body")) == ("article", TITLE, "\n".join(lines))
    author = found.first("author")
    assert author is None or (isinstance(author, Person) and author.name == AUTHOR)
    date = found.first("date")
    assert isinstance(date, datetime)
    assert date.astimezone(UTC).date().isoformat() == "2021-03-02"


def lone_post(heading: str, within: str) -> str:
    return (
        f"<title>{TITLE} - Harbour Board</title><body><div id=wrap><h1>{heading}</h1><p><a href='/board/4'>Boats</a></p>"
        f"<div id=post_71 class=post><div class=head>{within}<a class=author href='/member/9'>{AUTHOR}</a> "
        f"<time datetime='2021-03-02T08:15:00Z'>2 March 2021</time> <a href='#post_71' rel=bookmark>#1</a></div>"
        f"<div class=content>{LONG[0]}</div></div></div>"
    )


def test_a_lone_record_that_its_software_calls_a_post_is_an_article_if_the_pages_heading_stands_in_it() -> None:
    headed = lone_post("Harbour Board", f"<h2>{TITLE}</h2>")
    (article,) = read_objects(page_of(headed, url="http://site.test/2021/slip")).objects
    assert (article.type, article.first("title"), article.first("body")) == ("article", TITLE, LONG[0])
    (post,) = read_objects(page_of(lone_post(TITLE, ""), url="http://site.test/2021/slip")).objects
    assert (post.type, post.first("title"), post.first("body")) == ("post", TITLE, LONG[0])


@pytest.mark.parametrize("place", ["header", "footer"])
def test_no_tag_is_a_title(place: str) -> None:
    tags = "<div class=tags><h2><a href='/tag/winch/' rel=tag>winch</a></h2></div>"
    within = {"header": "", "footer": ""} | {place: tags}
    page = (
        f"<title>{TITLE} – Harbour Notes</title><body><article id=post-71 class='post type-post hentry'><header>"
        f"{within['header']}<h1 class=entry-title>{TITLE}</h1><span class=byline>by <a rel=author href='/a/ann'>{AUTHOR}"
        f"</a></span> <time datetime=2021-03-02>March 2, 2021</time></header><div class=entry-content><p>{LONG[0]}</p>"
        f"</div><footer>{within['footer']}</footer></article>"
    )
    (found,) = read_objects(page_of(page, url="http://site.test/2021/slip")).objects
    assert (found.type, found.first("title"), found.first("body")) == ("article", TITLE, LONG[0])


def test_bold_words_that_are_the_title_head_a_page_unless_they_stand_in_a_record() -> None:
    markup = f"<title>{TITLE}</title><body><pre><b>{TITLE}</b>\n{LONG[0]}</pre><p>{LONG[1]}</p>"
    prepared = PreparedPage.of(page_of(markup, url="http://site.test/slip"))
    outline = prepared.outline
    bold, record = outline.tags.index("b"), outline.tags.index("pre")
    assert page_heading(outline, prepared.names, 0, ()) == (TITLE, bold)
    assert page_heading(outline, prepared.names, 0, (record,)) is None
