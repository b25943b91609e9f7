"""Sites of no known application: a chronicle, a newspaper, a town hall and two magazines, in semantic HTML."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from examples.rendering.content import Article, Chronicle, Magazine, News, Site, TownHall
from examples.rendering.prose import Body, Prose, digest, inline, paragraphs, pick
from examples.rendering.recording import Json, PageKind, Recording, TrueObject
from examples.rendering.requisites import PNG, add_style, png

LIST = PageKind("intermediate", "list of articles")


@dataclass(frozen=True, slots=True)
class Story:
    """An article with its path, author and text."""

    article: Article
    path: str
    author: str
    body: Body
    on_topic: bool

    def kind(self, dup_of: str | None = None) -> PageKind:
        """Return what the article's page is, or that of a page which repeats it."""
        return PageKind("terminal", "article", 1, dup_of, None if dup_of else self.on_topic)

    def true(self, site: Recording) -> TrueObject:
        """Return what a crawler should extract from the article's page."""
        one = self.article
        return TrueObject(one.slug, site.url(self.path), "article", one.title, self.author, one.date, self.body)


def record_chronicle(site: Chronicle, prose: Prose) -> Recording:
    """Return the recorded chronicle: articles with JSON-LD, categories, edit forms, aliases that redirect."""
    out = Recording(site.host, "unknown", "chronicle", {"dead": list(site.dead)})
    stories = {a.slug: _story(site, a, f"/article/{a.slug}", site.contributors, prose) for a in site.articles}
    links = _links((f"/theme/{key}", name) for key, name in site.themes.items())
    latest = _story_links(sorted(stories.values(), key=lambda one: one.article.date, reverse=True)[:4])
    out.page("/", _shell(site, site.name, f"<h2>Themes</h2>\n{links}\n<h2>Latest</h2>\n{latest}"), LIST)
    for key, name in site.themes.items():
        members = _story_links(story for story in stories.values() if story.article.theme == key)
        out.page(f"/theme/{key}", _shell(site, name, f"<h2>{escape(name)}</h2>\n{members}"), LIST)
    form = '<form method="post"><textarea name="text"></textarea><button>Save</button></form>'
    out.page("/edit/", _shell(site, "Edit", form), PageKind("other", "post form"))
    out.page("/history", _shell(site, "History", "<p>One version, the first.</p>"), PageKind("other", "history"))
    for story in stories.values():
        _chronicle_article(out, site, story, stories)
    for alias, slug in site.aliases.items():
        out.redirect(f"/article/{alias}", f"/article/{slug}")
    return _finish(out, "User-agent: *", "Disallow: /edit/")


def _chronicle_article(out: Recording, site: Chronicle, story: Story, stories: Mapping[str, Story]) -> None:
    one, path = story.article, story.path
    see = _story_links(stories[slug] for slug in one.see)
    lost = f'<li><a href="{site.dead[0]}">Map of the flood</a></li>' if one.slug == "martinmas-flood" else ""
    main = f"""<article lang="{one.language}">
<header><h1>{escape(one.title)}</h1>
<p class="byline">Written by <span rel="author">{escape(story.author)}</span>,
<time datetime="{one.date.isoformat()}">{one.date:%d %B %Y}</time></p></header>
<div class="text">
{paragraphs(story.body)}
</div>{_figure(out, one)}
</article>
<nav class="related"><h2>See also</h2>
<ul>{see.removeprefix("<ul>").removesuffix("</ul>")}{lost}</ul></nav>
<p class="tools"><a href="/edit/{one.slug}" rel="nofollow">Edit this article</a> ·
<a href="{path}?action=history" rel="nofollow">History</a> · <a href="/theme/{one.theme}">More of this theme</a></p>"""
    out.page(path, _shell(site, one.title, main, _linked_data(out, story, "Article")), story.kind())
    out.truth([story.true(out)])
    out.same(f"/edit/{one.slug}", "/edit/", PageKind("other", "post form"))
    out.same(f"{path}?action=history", "/history", PageKind("other", "history"))


def record_news(site: News, prose: Prose) -> Recording:
    """Return the recorded newspaper: articles with JSON-LD, sections, a folder for subscribers, redirects."""
    out = Recording(site.host, "unknown", "news", {"dead": list(site.dead)})
    stories = [_story(site, a, f"/{a.date:%Y/%m}/{a.slug}.html", site.reporters, prose) for a in site.articles]
    newest = sorted(stories, key=lambda one: one.article.date, reverse=True)
    sections = _links((f"/section/{key}.html", name) for key, name in site.sections.items())
    partners = _links(site.partners)
    size = site.per_page
    for number, start in enumerate(range(0, len(newest), size), start=1):
        older = f'<a rel="next" href="/page/{number + 1}.html">Older news</a>' if start + size < len(newest) else ""
        teasers = "".join(_teaser(story) for story in newest[start : start + size])
        body = f"<nav>{sections}</nav>\n{teasers}{older}\n<aside><h2>Partners</h2>{partners}</aside>"
        out.page(f"/page/{number}.html" if number > 1 else "/", _shell(site, site.name, body), LIST)
    for key, name in site.sections.items():
        teasers = "".join(_teaser(story) for story in newest if story.article.section == key)
        out.page(f"/section/{key}.html", _shell(site, name, f"<h2>{escape(name)}</h2>\n{teasers}"), LIST)
    for story in stories:
        _news_article(out, site, story, newest)
    for name in site.subscribers:
        page = _shell(site, "Subscribers only", "<p>Please sign in to read this article.</p>")
        out.page(f"/subscribers/{name}.html", page, PageKind("other", "login form"))
    for old, new in site.redirects.items():
        out.redirect(old, new)
    return _finish(out, "User-agent: *", "Disallow: /subscribers/")


def _news_article(out: Recording, site: News, story: Story, newest: Sequence[Story]) -> None:
    one = story.article
    near = [other for other in newest if other.article.section == one.section and other is not story]
    closed = site.subscribers[digest(one.slug) % len(site.subscribers)]
    lost = f'<p><a href="{site.dead[0]}">Live blog of the flood</a></p>' if one.image else ""
    main = f"""<article>
<h1>{escape(one.title)}</h1>
<p class="meta">By <a rel="author" href="/section/{one.section}.html">{escape(story.author)}</a>,
<time datetime="{one.date.isoformat()}">{one.date:%d.%m.%Y %H:%M}</time></p>
<div class="article-text">
{paragraphs(story.body)}
</div>{_figure(out, one)}
</article>
<aside><h2>More from {escape(site.sections[one.section])}</h2>{_story_links(near[:4])}
<p><a href="/subscribers/{closed}.html">For subscribers: {escape(closed.replace("-", " "))}</a></p>
{lost}<p><a href="{story.path}?share=letter" rel="nofollow">Send by letter</a></p></aside>"""
    page = _shell(site, one.title, main, _linked_data(out, story, "NewsArticle"))
    out.page(story.path, page, story.kind())
    out.same(f"{story.path}?share=letter", story.path, story.kind(story.path))
    out.truth([story.true(out)])


def record_town_hall(site: TownHall, prose: Prose) -> Recording:
    """Return the recorded town hall; its calendar has no end and is made by the server."""
    trap: Json = {"path": "/calendar/", "parameter": "month"}
    out = Recording(site.host, "unknown", "town hall", {"trap": trap})
    stories = [_story(site, a, f"/notices/{a.slug}.html", (site.office,), prose) for a in site.notices]
    calendar = '<p><a href="/calendar/?month=2019-11">Calendar of events</a></p>'
    out.page("/", _shell(site, site.name, f"<h2>Notices</h2>\n{_story_links(stories)}\n{calendar}"), LIST)
    for story in stories:
        one = story.article
        main = f"""<article><h1>{escape(one.title)}</h1>
<p><time datetime="{one.date.isoformat()}">{one.date:%d %B %Y}</time>,
<span class="author">{escape(site.office)}</span></p>
<section>
{paragraphs(story.body)}
</section></article>
<p><a href="/">All notices</a> · <a href="/calendar/?month={one.date:%Y-%m}">Events of this month</a></p>"""
        page = _shell(site, one.title, main, _open_graph(out, story))
        out.page(story.path, page, story.kind())
        out.truth([story.true(out)])
    return _finish(out, "User-agent: *", f"Crawl-delay: {site.crawl_delay}")


def record_magazine(site: Magazine, prose: Prose) -> Recording:
    """Return a recorded site about something else; OpenGraph is all it says about itself."""
    out = Recording(site.host, "unknown", "magazine")
    stories = [_story(site, a, f"/{site.folder}/{a.slug}.html", (site.author,), prose) for a in site.pages]
    out.page("/", _shell(site, site.name, f"<h2>All {site.folder}</h2>\n{_story_links(stories)}"), LIST)
    for place, story in enumerate(stories):
        one = story.article
        near = [stories[(place + step) % len(stories)] for step in (1, 2, 3)]
        main = f"""<article><h1>{escape(one.title)}</h1>
<p class="meta">{escape(site.author)}, <time datetime="{one.date.isoformat()}">{one.date:%d %B %Y}</time></p>
{paragraphs(story.body)}
</article>
<aside><h2>Read on</h2>{_story_links(near)}<p><a href="{story.path}?print=1">Print</a></p></aside>"""
        page = _shell(site, one.title, main, _open_graph(out, story))
        out.page(story.path, page, story.kind())
        out.same(f"{story.path}?print=1", story.path, story.kind(story.path))
        out.truth([story.true(out)])
    return _finish(out, "User-agent: *", "Disallow:")


def _story(site: Site, article: Article, path: str, authors: Sequence[str], prose: Prose) -> Story:
    key = f"{site.host}{path}"
    text = prose.compose(article.open, article.prose, 8 + digest(key, "length") % 5, key)
    author = pick(authors, key, "author")
    return Story(article, path, author, (*text, *article.add), prose.on_topic(article.prose))


def _finish(out: Recording, *robots: str) -> Recording:
    add_style(out, "/assets")
    out.robots(*robots)
    return out


def _figure(out: Recording, article: Article) -> str:
    if not article.image:
        return ""
    path = f"/assets/{article.slug}.png"
    out.file(path, png(article.slug, 48, 32), PNG)
    return f'\n<figure><img src="{path}" alt="{escape(article.title)}" width="480"></figure>'


def _linked_data(out: Recording, story: Story, kind: str) -> str:
    one = story.article
    data: dict[str, Json] = {"@context": "https://schema.org", "@type": kind, "headline": one.title}
    data |= {"datePublished": one.date.isoformat(), "author": {"@type": "Person", "name": story.author}}
    data |= {"mainEntityOfPage": out.url(story.path), "inLanguage": one.language}
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return f'{_open_graph(out, story)}\n<script type="application/ld+json">{text}</script>'


def _open_graph(out: Recording, story: Story) -> str:
    one = story.article
    return f"""<meta property="og:type" content="article">
<meta property="og:title" content="{escape(one.title)}">
<meta property="og:url" content="{out.url(story.path)}">
<meta property="article:published_time" content="{one.date.isoformat()}">
<meta name="author" content="{escape(story.author)}">"""


def _teaser(story: Story) -> str:
    first = inline(story.body[0].split(". ")[0])
    return f"""<section class="teaser"><h3><a href="{story.path}">{escape(story.article.title)}</a></h3>
<p>{first.rstrip(".")}.</p></section>
"""


def _story_links(stories: Iterable[Story]) -> str:
    return _links((story.path, story.article.title) for story in stories)


def _links(links: Iterable[tuple[str, str]]) -> str:
    items = "".join(f'<li><a href="{url}">{escape(name)}</a></li>' for url, name in links)
    return f"<ul>{items}</ul>"


def _shell(site: Site, title: str, main: str, head: str = "") -> str:
    name = escape(site.name)
    return f"""<!doctype html>
<html lang="{site.language}">
<head>
<meta charset="utf-8">
<title>{escape(title)} | {name}</title>
<link rel="stylesheet" href="/assets/style.css">
{head}
</head>
<body>
<header class="site"><a class="logo" href="/">{name}</a><p>{escape(site.description)}</p></header>
<main>
{main}
</main>
<footer><p>{name}. <a href="/">Front page</a></p></footer>
</body>
</html>
"""
