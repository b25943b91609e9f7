"""A WordPress 6.1 blog in a classic theme, Twenty Twenty-One.

The structure follows the theme's header.php, archive.php, template-parts/content/content-single.php and
content-excerpt.php, inc/template-tags.php and comments.php, and Walker_Comment::html5_comment of WordPress itself.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape

from examples.rendering.content import Blog, Post
from examples.rendering.prose import Body, Prose, digest, paragraphs, pick, plain
from examples.rendering.recording import PageKind, Recording, TrueObject
from examples.rendering.requisites import PNG, add_style, png

THEME = "/wp-content/themes/twentytwentyone"
PICTURES = ("quay", "street", "reading-room")


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment; ``depth`` 2 answers the one before it."""

    id: int
    author: str
    date: datetime
    body: Body
    depth: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A post with its number, path, text and comments."""

    id: int
    post: Post
    path: str
    body: Body
    comments: tuple[Comment, ...]
    on_topic: bool


def record(blog: Blog, prose: Prose) -> Recording:
    """Return the recorded blog."""
    return _TwentyTwentyOne(blog, Recording(blog.host, "wordpress", "twentytwentyone")).record(prose)


def entries(blog: Blog, prose: Prose) -> tuple[Entry, ...]:
    """Return the posts with their texts and comments, the oldest first."""
    result = []
    comment = 1
    for number, post in enumerate(sorted(blog.posts, key=lambda one: one.date), start=10):
        path = f"/{post.date:%Y/%m}/{post.slug}/"
        comments = tuple(_comment(blog, prose, post, comment + turn, turn) for turn in range(post.comments))
        comment += post.comments
        result.append(Entry(number, post, path, _text(blog, post, prose), comments, prose.on_topic(post.themes)))
    return tuple(result)


def _text(blog: Blog, post: Post, prose: Prose) -> Body:
    key = f"{blog.host}/{post.slug}"
    return (*prose.compose(post.open, post.themes, 8 + digest(key, "length") % 5, key), *post.add)


def _comment(blog: Blog, prose: Prose, post: Post, number: int, turn: int) -> Comment:
    key = f"{blog.host}/{post.slug}/comment/{turn}"
    themes = tuple(reversed(post.themes))
    body = prose.compose(prose.opener(post.language, post.slug, turn), themes, 2 + digest(key) % 2, key)
    author = pick(blog.commenters, key)
    date = post.date + timedelta(minutes=90 + digest(key, "date") % 2000 + 2400 * turn)
    return Comment(number, author, date, body, depth=2 if turn % 3 == 1 else 1)


@dataclass(frozen=True, slots=True)
class _TwentyTwentyOne:
    blog: Blog
    site: Recording

    def record(self, prose: Prose) -> Recording:
        posts = entries(self.blog, prose)
        newest = posts[::-1]
        self.lists(newest)
        for place, entry in enumerate(posts):
            self.single(
                entry, posts[place - 1] if place else None, posts[place + 1] if place + 1 < len(posts) else None
            )
        for number, page in enumerate(self.blog.pages, start=2):
            self.static_page(number, page, prose)
        self.junk(posts)
        add_style(self.site, THEME, query="?ver=1.7")
        for name in PICTURES:
            self.site.file(f"/wp-content/uploads/{name}.png", png(name, 48, 32), PNG)
        self.site.robots("User-agent: *", "Disallow: /wp-admin/", "Allow: /wp-admin/admin-ajax.php")
        return self.site

    # ---- lists of posts

    def lists(self, newest: Sequence[Entry]) -> None:
        size = self.blog.per_page
        pages = [newest[start : start + size] for start in range(0, len(newest), size)]
        for number, chunk in enumerate(pages, start=1):
            path = f"/page/{number}/" if number > 1 else "/"
            body = self._list(chunk) + _pages("", number, len(pages))
            html = self._page(self.blog.name, "home blog", body, newest)
            self.site.page(path, html, PageKind("intermediate", "list of posts"))
        groups: dict[tuple[str, str, str], list[Entry]] = defaultdict(list)
        for entry in newest:
            for group in self._groups(entry):
                groups[group].append(entry)
        for (path, classes, title), members in sorted(groups.items()):
            header = f'<header class="page-header alignwide"><h1 class="page-title">{title}</h1></header>\n'
            html = self._page(f"{title} – {self.blog.name}", f"archive {classes}", header + self._list(members), ())
            self.site.page(path, html, PageKind("intermediate", f"list of posts by {classes.split()[0]}"))

    def _groups(self, entry: Entry) -> Iterable[tuple[str, str, str]]:
        post = entry.post
        month = f"Month: <span>{post.date:%B %Y}</span>"
        yield f"/{post.date:%Y/%m}/", "date", month
        author = escape(self.blog.authors[post.author])
        yield f"/author/{post.author}/", f"author author-{post.author}", f'Author: <span class="vcard">{author}</span>'
        if post.category:
            name = escape(self.blog.categories[post.category])
            yield f"/category/{post.category}/", f"category category-{post.category}", f"Category: <span>{name}</span>"
        for tag in post.tags:
            yield f"/tag/{_slug(tag)}/", f"tag tag-{_slug(tag)}", f"Tag: <span>{escape(tag)}</span>"

    def _list(self, members: Iterable[Entry]) -> str:
        return "".join(self._excerpt(entry) for entry in members)

    def _excerpt(self, entry: Entry) -> str:
        title, path = escape(entry.post.title), self.site.url(entry.path)
        words = " ".join(plain(entry.body).split()[:28])
        return f"""<article id="post-{entry.id}" class="{self._post_class(entry)}">
<header class="entry-header"><h2 class="entry-title default-max-width"><a href="{path}">{title}</a></h2></header>
<div class="entry-content"><p>{escape(words, quote=False)}… <a class="more-link" href="{path}">Continue reading
<span class="screen-reader-text">{title}</span></a></p></div>
<footer class="entry-footer default-max-width">{self._posted_on(entry.post)}{self._taxonomies(entry.post)}</footer>
</article>
"""

    # ---- one post

    def single(self, entry: Entry, before: Entry | None, after: Entry | None) -> None:
        post = entry.post
        picture = self._picture(post) if post.image else ""
        author = escape(self.blog.authors[post.author])
        body = f"""<article id="post-{entry.id}" class="{self._post_class(entry)}">
<header class="entry-header alignwide"><h1 class="entry-title">{escape(post.title)}</h1></header>
<div class="entry-content">
{paragraphs(entry.body)}{picture}
</div><!-- .entry-content -->
<footer class="entry-footer default-max-width"><div class="posted-by">
{self._posted_on(post)}<span class="byline">By
<a href="{self.site.url(f"/author/{post.author}/")}" rel="author">{author}</a></span></div>
{self._taxonomies(post)}</footer>
</article><!-- #post-{entry.id} -->
{self._comments(entry)}
{self._post_navigation(before, after)}"""
        classes = f"post-template-default single single-post postid-{entry.id} single-format-standard"
        html = self._page(f"{post.title} – {self.blog.name}", classes, body, (), language=post.language)
        self.site.page(entry.path, html, PageKind("terminal", "post", 1 + len(entry.comments), on_topic=entry.on_topic))
        self.site.truth(self._true(entry))

    def _picture(self, post: Post) -> str:
        address = self.site.url(f"/wp-content/uploads/{pick(PICTURES, post.slug)}.png")
        return f'\n<figure class="wp-block-image"><img src="{address}" alt="{escape(post.title)}" width="48"></figure>'

    def _true(self, entry: Entry) -> Iterable[TrueObject]:
        post, url = entry.post, self.site.url(entry.path)
        key, author = f"post-{entry.id}", self.blog.authors[post.author]
        yield TrueObject(key, url, "post", post.title, author, post.date, entry.body)
        shown = frozenset({"author", "date"})
        for one in entry.comments:
            anchor = f"comment-{one.id}"
            yield TrueObject(anchor, url, "comment", None, one.author, one.date, one.body, key, anchor, shown)

    def _comments(self, entry: Entry) -> str:
        url = self.site.url(entry.path)
        items = "".join(_comment_item(entry.comments, place, url) for place in range(len(entry.comments)))
        total = len(entry.comments)
        count = f"{total} {'Reply' if total == 1 else 'Replies'}"
        inner = (
            f'<h2 class="comments-title">{count}</h2>\n<ol class="comment-list">\n{"".join(items)}</ol>'
            if items
            else ""
        )
        return f"""<div id="comments" class="comments-area default-max-width show-avatars">
{inner}
<div id="respond" class="comment-respond"><h2 id="reply-title" class="comment-reply-title">Leave a reply</h2>
<form action="{self.site.url("/wp-comments-post.php")}" method="post" id="commentform" class="comment-form">
<p class="comment-form-comment"><label for="comment">Comment</label>
<textarea id="comment" name="comment"></textarea></p>
<input type="hidden" name="comment_post_ID" value="{entry.id}"></form></div>
</div><!-- #comments -->"""

    def _post_navigation(self, before: Entry | None, after: Entry | None) -> str:
        links = "".join(
            f'<div class="nav-{name}"><a href="{self.site.url(entry.path)}" rel="{rel}"><p class="post-title">'
            f"{escape(entry.post.title)}</p></a></div>"
            for entry, name, rel in ((before, "previous", "prev"), (after, "next", "next"))
            if entry
        )
        return f"""<nav class="navigation post-navigation" aria-label="Posts"><h2 class="screen-reader-text">Post
navigation</h2><div class="nav-links">{links}</div></nav>"""

    def static_page(self, number: int, page: Post, prose: Prose) -> None:
        text = _text(self.blog, page, prose)
        body = f"""<article id="post-{number}" class="post-{number} page type-page status-publish hentry entry">
<header class="entry-header alignwide"><h1 class="entry-title">{escape(page.title)}</h1></header>
<div class="entry-content">
{paragraphs(text)}
</div><!-- .entry-content -->
</article>"""
        classes = f"page-template-default page page-id-{number}"
        path = f"/{page.slug}/"
        html = self._page(f"{page.title} – {self.blog.name}", classes, body, ())
        self.site.page(path, html, PageKind("terminal", "page", 1, on_topic=prose.on_topic(page.themes)))
        author = self.blog.authors[page.author]
        url, shown = self.site.url(path), frozenset({"title"})
        self.site.truth([TrueObject(f"page-{number}", url, "page", page.title, author, page.date, text, shown=shown)])

    # ---- what is not worth fetching

    def junk(self, posts: Sequence[Entry]) -> None:
        login = '<form name="loginform" id="loginform" action="/wp-login.php" method="post"><input name="log"></form>'
        head = "<!DOCTYPE html><html><head><title>Log In</title></head>"
        html = f'{head}<body class="login wp-core-ui">{login}</body></html>'
        self.site.page("/wp-login.php", html, PageKind("other", "login form"))
        self.site.page("/feed/", self._feed(posts), PageKind("other", "feed"), "application/rss+xml; charset=UTF-8")
        for entry in posts:
            self.site.redirect(f"/?p={entry.id}", entry.path)
            dup = PageKind("terminal", "post", 1 + len(entry.comments), dup_of=entry.path)
            for one in entry.comments:
                self.site.same(f"{entry.path}?replytocom={one.id}", entry.path, dup)

    def _feed(self, posts: Sequence[Entry]) -> str:
        items = "".join(
            f"<item><title>{escape(entry.post.title)}</title><link>{self.site.url(entry.path)}</link></item>\n"
            for entry in posts[::-1][:10]
        )
        return (
            f'<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>{escape(self.blog.name)}</title>'
            f"<link>{self.site.url('')}</link><description>{escape(self.blog.description)}</description>\n{items}"
            f"</channel></rss>\n"
        )

    # ---- parts

    def _page(self, title: str, classes: str, body: str, newest: Sequence[Entry], language: str | None = None) -> str:
        home, name = self.site.url(""), escape(self.blog.name)
        return f"""<!doctype html>
<html lang="{language or "en-GB"}">
<head>
<meta charset="UTF-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<title>{title if "<span" not in title else _bare(title)}</title>
<link rel="alternate" type="application/rss+xml" title="{name} Feed" href="{home}/feed/" />
<link rel="stylesheet" id="twenty-twenty-one-style-css" href="{home}{THEME}/style.css?ver=1.7" media="all" />
<link rel="https://api.w.org/" href="{home}/wp-json/" />
<meta name="generator" content="WordPress 6.1.1" />
</head>
<body class="{classes} wp-embed-responsive is-light-theme no-js">
<div id="page" class="site">
<a class="skip-link screen-reader-text" href="#content">Skip to content</a>
<header id="masthead" class="site-header has-title-and-tagline"><div class="site-branding">
<p class="site-title"><a href="{home}/">{name}</a></p>
<p class="site-description">{escape(self.blog.description)}</p></div>
<nav id="site-navigation" class="primary-navigation"><ul class="menu-wrapper"><li class="menu-item">
<a href="{home}/about/">About</a></li></ul></nav></header>
<div id="content" class="site-content"><section id="primary" class="content-area"><main id="main" class="site-main">
{body}
</main></section></div>
{self._widgets(newest)}
<footer id="colophon" class="site-footer"><div class="site-info">
<div class="site-name"><a href="{home}/">{name}</a></div>
<div class="powered-by">Proudly powered by <a href="https://wordpress.org/">WordPress</a>.</div></div></footer>
</div>
</body>
</html>
"""

    def _widgets(self, newest: Sequence[Entry]) -> str:
        home = self.site.url("")
        months = dict.fromkeys((f"{entry.post.date:%Y/%m}", f"{entry.post.date:%B %Y}") for entry in newest)
        archives = "".join(f'<li><a href="{home}/{path}/">{name}</a></li>' for path, name in months)
        categories = "".join(
            f'<li class="cat-item"><a href="{home}/category/{slug}/">{escape(name)}</a></li>'
            for slug, name in self.blog.categories.items()
        )
        roll = "".join(f'<li><a href="{url}">{escape(name)}</a></li>' for url, name in self.blog.blogroll)
        return f"""<aside class="widget-area">
<section class="widget widget_archive"><h2 class="widget-title">Archives</h2><ul>{archives}</ul></section>
<section class="widget widget_categories"><h2 class="widget-title">Categories</h2><ul>{categories}</ul></section>
<section class="widget widget_links">
<h2 class="widget-title">Neighbours</h2><ul class="xoxo blogroll">{roll}</ul></section>
<section class="widget widget_meta"><h2 class="widget-title">Meta</h2><ul>
<li><a href="{home}/wp-login.php">Log in</a></li>
<li><a href="{home}/feed/">Entries feed</a></li></ul></section></aside>"""

    def _post_class(self, entry: Entry) -> str:
        return (
            f"post-{entry.id} post type-post status-publish format-standard hentry category-{entry.post.category} entry"
        )

    def _posted_on(self, post: Post) -> str:
        shown = f"{post.date:%B} {post.date.day}, {post.date.year}"
        time = f'<time class="entry-date published updated" datetime="{post.date.isoformat()}">{shown}</time>'
        return f'<span class="posted-on">Published {time}</span>'

    def _taxonomies(self, post: Post) -> str:
        home = self.site.url("")
        tags = ", ".join(f'<a href="{home}/tag/{_slug(tag)}/" rel="tag">{escape(tag)}</a>' for tag in post.tags)
        category = escape(self.blog.categories[post.category or ""])
        return f"""<div class="post-taxonomies"><span class="cat-links">Categorized as
<a href="{home}/category/{post.category}/" rel="category tag">{category}</a> </span>
<span class="tags-links">Tagged {tags}</span></div>"""


def _comment_item(comments: Sequence[Comment], place: int, url: str) -> str:
    """Return a comment with its place in the nested lists: an answer stands in a list inside what it answers."""
    one = comments[place]
    answered = place + 1 < len(comments) and comments[place + 1].depth > one.depth
    if one.depth == 2:
        return f'<ol class="children">\n{_comment_start(one, place, url)}</li>\n</ol>\n</li>\n'
    return _comment_start(one, place, url) + ("" if answered else "</li>\n")


def _comment_start(one: Comment, place: int, url: str) -> str:
    link = f"{url}#comment-{one.id}"
    name = escape(one.author)
    author = f'<a href="http://best-offers.test/?ref={one.id}" rel="external nofollow ugc" class="url">{name}</a>'
    shown = f"{one.date:%B} {one.date.day}, {one.date.year} at {one.date.hour % 12 or 12}:{one.date:%M %p}"
    return f"""<li id="comment-{one.id}" class="comment {"even" if place % 2 == 0 else "odd alt"} depth-{one.depth}">
<article id="div-comment-{one.id}" class="comment-body">
<footer class="comment-meta"><div class="comment-author vcard">
<b class="fn">{author if one.author == "Gustav" else name}</b> <span class="says">says:</span></div>
<div class="comment-metadata"><a href="{link}"><time datetime="{one.date.isoformat()}">{shown}</time></a></div></footer>
<div class="comment-content">
{paragraphs(one.body)}
</div>
<div class="reply"><a rel="nofollow" class="comment-reply-link" href="{url}?replytocom={one.id}#respond">Reply</a></div>
</article>
"""


def _pages(base: str, current: int, total: int) -> str:
    items = []
    for number in range(1, total + 1):
        path = f"{base}/page/{number}/" if number > 1 else f"{base}/"
        here = f'<span aria-current="page" class="page-numbers current">Page {number}</span>'
        items.append(here if number == current else f'<a class="page-numbers" href="{path}">Page {number}</a>')
    if current < total:
        older = f"{base}/page/{current + 1}/"
        items.append(f'<a class="next page-numbers" href="{older}"><span class="nav-next-text">Older</span></a>')
    return f"""<nav class="navigation pagination" aria-label="Posts">
<h2 class="screen-reader-text">Posts navigation</h2>
<div class="nav-links">{"".join(items)}</div></nav>"""


def _bare(title: str) -> str:
    return title.replace('<span class="vcard">', "").replace("<span>", "").replace("</span>", "")


def _slug(tag: str) -> str:
    return tag.lower().replace(" ", "-").replace("ç", "c")
