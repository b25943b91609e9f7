"""Pages to score: made from a seed, or read from WARC files."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import accumulate, count
from pathlib import Path

from aahcrawler.captures import ArchivedCaptures, shown_pages
from aahcrawler.page import Headers, Page

TOPIC = ("wind turbine", "renewable energy", "offshore", "electricity grid", "rotor blade", "Hermann Scheer")
"""Keywords and an entity; every third page is about them."""
_WORDS = 30_000
_PARAGRAPHS, _LINKS_OF_TEXT, _BESIDE, _COMMENTS = 24, 30, 16, 4
_MENU = ("Home", "News", "Archive", "Photographs", "About us", "Contact", "Imprint", "Newsletter", "Log in", "Help")
_AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title} | The Harbour Gazette</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="index, follow, max-image-preview:large">
<link rel="canonical" href="http://gazette.test/{number}.html">
<link rel="alternate" type="application/rss+xml" href="/feed">
<meta property="og:type" content="article"><meta property="og:title" content="{title}">
<script type="application/ld+json">{{"@context": "https://schema.org", "@type": "NewsArticle", "headline": "{title}",
"datePublished": "2026-10-{day:02}T08:00:00+00:00", "publisher": {{"@type": "Organization"}}}}</script>
<style>{style}</style>
<link rel="stylesheet" href="/assets/css/main.css?ver=6.2">
<script src="/assets/js/site.js?ver=6.2" defer></script></head>
<body class="post-template-default single single-post postid-{number} wp-embed-responsive">
<a class="skip-link screen-reader-text" href="#content">Skip to content</a>
<header id="masthead" class="site-header has-logo has-title-and-tagline has-menu"><div class="site-branding"><a
class="custom-logo-link" href="/" rel="home"><img width="300" height="80" src="/logo.png" class="custom-logo" alt="The
Gazette" decoding="async"></a></div><nav id="site-navigation" class="primary-navigation" aria-label="Primary menu">
<ul id="primary-menu-list" class="menu-wrapper">{menu}</ul></nav></header>
<main id="content" class="site-main"><article id="post-{number}" class="post-{number} post type-post status-publish
format-standard hentry category-news entry"><header class="entry-header alignwide"><h1 class="entry-title">{title}</h1>
<div class="entry-meta"><time class="entry-date published" datetime="2026-10-{day:02}">{day} October 2026</time></div>
</header><div class="entry-content">{text}</div></article>
<section id="comments" class="comments-area default-max-width show-avatars"><h2 class="comments-title">Comments</h2>
<ol class="comment-list">{comments}</ol></section></main>
<aside class="widget-area"><section id="block-4" class="widget widget_block"><h3 class="widget-title">Further
reading</h3><ul class="wp-block-latest-posts__list wp-block-latest-posts">{beside}</ul></section></aside>
<footer id="colophon" class="site-footer"><p class="powered-by">Printed and published on the quay</p></footer>
</body></html>
"""
_STYLE = "".join(
    f":root{{--preset--color--{name}: #{value};}}.has-{name}-background-color"
    f"{{background-color: var(--preset--color--{name}) !important;}}"
    for name, value in (("black", "000000"), ("gray", "39414d"), ("green", "d1e4dd"), ("blue", "d1dfe4"))
)


def generated(seed: int) -> Iterator[Page]:
    """Yield pages of a made-up newspaper without end: words as frequent as in English, about a hundred units each."""
    press = _Press(random.Random(seed))
    for number in count(1):
        body = press.page(number).encode()
        headers = Headers((("Content-Type", "text/html; charset=utf-8"),))
        yield Page(f"http://gazette.test/{number}.html", 200, headers, body, _AT)


def archived(world: Path) -> Iterator[Page]:
    """Yield the HTML pages of the WARC files of a folder."""
    with ArchivedCaptures(world) as source:
        yield from (page for page in shown_pages(source) if page.is_html and 200 <= page.status < 300)


class _Press:
    """Writes pages. Links beside an article are the same few hundred everywhere, those in its text are its own."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        from wordfreq import get_frequency_list  # noqa: PLC0415 - what it imports takes long

        grouped = list(enumerate(get_frequency_list("en", "large")))
        ranked = [(word, 10 ** (-power / 100)) for power, words in grouped for word in words][:_WORDS]
        self._words = [word for word, _ in ranked]
        self._weights = list(accumulate(weight for _, weight in ranked))
        self._beside = [(f"/read/{number}.html", self._text(4).capitalize()) for number in range(300)]

    def page(self, number: int) -> str:
        """Return the markup of a page."""
        topical = number % 3 == 0
        links = "".join(
            f'<li id="menu-item-{i}" class="menu-item menu-item-type-post_type menu-item-object-page menu-item-{i}">'
            f'<a href="/{i}" itemprop="url"><span class="menu-item-text">{name}</span></a></li>\n'
            for i, name in enumerate(_MENU)
        )
        beside = self._chance.sample(self._beside, _BESIDE)
        return _PAGE.format(
            number=number,
            title=self._text(6).capitalize().replace('"', ""),
            style=_STYLE,
            menu=links,
            day=number % 28 + 1,
            text="".join(self._paragraph(topical, place) for place in range(_PARAGRAPHS)),
            comments="".join(self._comment(place) for place in range(_COMMENTS)),
            beside="".join(
                f'<li class="wp-block-latest-posts__item"><div class="wp-block-latest-posts__image"><img '
                f'loading="lazy" width="150" height="150" src="{url}.jpg" srcset="{url}-150.jpg 150w" alt=""></div>'
                f'<a class="wp-block-latest-posts__post-title" href="{url}">{title}</a></li>\n'
                for url, title in beside
            ),
        )

    def _text(self, words: int) -> str:
        return " ".join(self._chance.choices(self._words, cum_weights=self._weights, k=words))

    def _paragraph(self, topical: bool, place: int) -> str:
        sentences = [f"{self._text(self._chance.randint(6, 20)).capitalize()}." for _ in range(3)]
        if topical and place % 2:
            sentences.append(f"The {self._chance.choice(TOPIC)} of the {self._text(3)}.")
        for _ in range(_LINKS_OF_TEXT // _PARAGRAPHS + (place < _LINKS_OF_TEXT % _PARAGRAPHS)):
            path = self._text(2).replace(" ", "-").replace("'", "")
            link = f'<a href="http://gazette.test/{path}.html" data-type="post">{self._text(3)}</a>'
            sentences.insert(1, f"<strong>See</strong> {link}, it says.")
        return f'<p class="has-text-align-left wp-block-paragraph">{" ".join(sentences)}</p>\n'

    def _comment(self, place: int) -> str:
        return (
            f'<li id="comment-{place}" class="comment even thread-even depth-1"><article id="div-comment-{place}" '
            f'class="comment-body"><footer class="comment-meta"><div class="comment-author vcard"><img alt="" '
            f'src="/avatar/{place}.png" class="avatar avatar-60 photo" height="60" width="60" loading="lazy"> '
            f'<b class="fn">{self._text(1).capitalize()}</b> <span class="says">says:</span></div></footer>'
            f'<div class="comment-content"><p>{self._text(30).capitalize()}.</p></div></article></li>\n'
        )
