"""Mezzanine, a content management system made with Django: a blog with comments below its posts, categories, a feed.

It tells dates as "2 years, 3 months ago" alone.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.software.content import Content, Edit, Place, Post, Thread, html, lines
from benchmarks.software.sites import django_project as project

SETTINGS = """
from mezzanine.project_template.project_name.settings import *
# common
ROOT_URLCONF = "mezzanine.project_template.project_name.urls"
TEMPLATES[0]["DIRS"] = []
NEVERCACHE_KEY = "a benchmark has no secrets"
CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}
SILENCED_SYSTEM_CHECKS = ["fields.W342"]
BLOG_POST_PER_PAGE = 5
COMMENTS_DEFAULT_APPROVED = True
TESTING = False
"""


def create(home: Path, content: Content) -> Mapping[str, Place]:
    """Make the blog and fill it; return where posts are."""
    project.set_up(home, SETTINGS)
    project.make_database()
    project.model("sites.Site").objects.update(domain=urlsplit(content.address).netloc, name="Four Corners")
    project.model("pages.RichTextPage").objects.create(title="Blog", slug="blog", content="<p>All that we wrote.</p>")
    project.model("pages.RichTextPage").objects.create(title="About us", content="<p>Who writes here, and why.</p>")
    for number, person in enumerate(content.people):
        first, _, last = person.name.partition(" ")
        project.model("auth.User").objects.create(
            username=f"writer{number}", first_name=first, last_name=last, email=f"writer{number}@example.org"
        )
    categories = {name: project.model("blog.BlogCategory").objects.create(title=name) for name in content.forums}
    keys: dict[str, int] = {}
    for thread in content.threads:
        article = _write(home, thread)
        article.categories.add(categories[thread.forum])
        keys[thread.posts[0].id] = article.pk
        for post in thread.posts[1:]:
            keys[post.id] = _comment(post, article).pk
    project.keep_keys(home, keys)
    return _places(keys)


def edit(home: Path, edits: tuple[Edit, ...]) -> Mapping[str, Place]:
    """Change the blog; return where posts are now."""
    project.set_up(home, SETTINGS)
    keys = project.keys(home)
    comments, articles = project.model("generic.ThreadedComment").objects, project.model("blog.BlogPost").objects
    for change in edits:
        name = change.post.id
        match change.kind:
            case "deleted":
                comments.filter(pk=keys.pop(name)).update(is_removed=True)
            case "edited" if _opens(name):
                articles.filter(pk=keys[name]).update(content=_written(home, change.post))
            case "edited":
                comments.filter(pk=keys[name]).update(comment=lines(change.post))
            case _:
                keys[name] = _comment(change.post, articles.get(pk=keys[f"{change.thread}-1"])).pk
    project.keep_keys(home, keys)
    return _places(keys)


def serve(home: Path, port: int) -> None:
    """Serve the blog."""
    project.set_up(home, SETTINGS)
    project.serve(port)


def _opens(name: str) -> bool:
    return name.endswith("-1")


def _written(home: Path, post: Post) -> str:
    for block in post.blocks:
        if block.kind == "file":
            project.attach(home, block.text)
    return html(post, project.FILES)


def _write(home: Path, thread: Thread) -> Any:
    post = thread.posts[0]
    first, _, last = post.author.partition(" ")
    return project.model("blog.BlogPost").objects.create(
        title=thread.title,
        content=_written(home, post),
        user=project.model("auth.User").objects.get(first_name=first, last_name=last),
        publish_date=datetime.fromisoformat(post.date),
        allow_comments=True,
    )


def _comment(post: Post, article: Any) -> Any:
    return article.comments.create(
        user_name=post.author,
        user_email=f"{post.author.replace(' ', '.')}@example.org",
        comment=lines(post),
        submit_date=datetime.fromisoformat(post.date),
    )


def _places(keys: Mapping[str, int]) -> dict[str, Place]:
    articles = {each.pk: each.get_absolute_url() for each in project.model("blog.BlogPost").objects.all()}
    threads = {name.partition("-")[0]: articles[key] for name, key in keys.items() if _opens(name)}
    return {name: Place(threads[name.partition("-")[0]], hidden=("date",)) for name in keys}
