"""Spirit, a forum made with Django: threads in categories, history of edits, pages of members."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.software.content import Content, Edit, Place, Post, markdown
from benchmarks.software.sites import django_project as project

PAGE_SIZE = 10
SETTINGS = """
from spirit.extra.project_template.project_name.settings.base import *
# common
ROOT_URLCONF = "spirit.extra.project_template.project_name.urls"
CACHES = {name: {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"} for name in ("default", "st_rate_limit")}
HAYSTACK_CONNECTIONS["default"]["PATH"] = str(HOME / "search")
HAYSTACK_SIGNAL_PROCESSOR = "haystack.signals.BaseSignalProcessor"
ST_SITE_URL = ADDRESS
"""
MEMBERS_ONLY = """
ST_PRIVATE_FORUM = True
"""


def create(home: Path, content: Content) -> Mapping[str, Place]:
    """Make the forum and fill it; return where posts are."""
    project.set_up(home, SETTINGS)
    project.make_database()
    from spirit.admin.forms import BasicConfigForm  # noqa: PLC0415 - needs the settings

    form = BasicConfigForm({"site_name": "Four Corners", "comments_per_page": PAGE_SIZE, "topics_per_page": 20})
    if form.is_valid():
        form.save()
    for number, person in enumerate(content.people):
        user = project.model("auth.User").objects.create(
            username=f"member{number}", email=f"member{number}@example.org", date_joined=person.joined
        )
        user.st.nickname = person.name
        user.st.save()
    forums = {name: project.model("spirit_category.Category").objects.create(title=name) for name in content.forums}
    keys: dict[str, int] = {}
    for thread in content.threads:
        topic = project.model("spirit_topic.Topic").objects.create(
            category=forums[thread.forum],
            title=thread.title,
            user=_user(thread.posts[0].author),
            date=datetime.fromisoformat(thread.posts[0].date),
        )
        for post in thread.posts:
            keys[post.id] = _add(home, post, topic).pk
    project.keep_keys(home, keys)
    return _places(keys)


def edit(home: Path, edits: tuple[Edit, ...]) -> Mapping[str, Place]:
    """Change the forum as members and moderators do; return where posts are now."""
    project.set_up(home, SETTINGS)
    keys = project.keys(home)
    comments = project.model("spirit_comment.Comment").objects
    for change in edits:
        match change.kind:
            case "deleted":
                comments.filter(pk=keys.pop(change.post.id)).update(is_removed=True)
            case "edited":
                _revise(home, comments.get(pk=keys[change.post.id]), change.post)
            case _:
                beside = next(key for name, key in keys.items() if name.startswith(f"{change.thread}-"))
                keys[change.post.id] = _add(home, change.post, comments.get(pk=beside).topic).pk
    project.keep_keys(home, keys)
    return _places(keys)


def serve(home: Path, port: int) -> None:
    """Serve the forum."""
    project.set_up(home, SETTINGS)
    project.serve(port)


def _user(name: str) -> Any:
    return project.model("auth.User").objects.get(st__nickname=name)


def _add(home: Path, post: Post, topic: Any) -> Any:
    first = post.former if post.revised else post
    comment = project.model("spirit_comment.Comment").objects.create(
        user=_user(post.author),
        topic=topic,
        comment=markdown(first, project.FILES),
        comment_html=_rendered(home, first),
        date=datetime.fromisoformat(post.date),
    )
    topic.increase_comment_count()
    type(topic).objects.filter(pk=topic.pk).update(last_active=comment.date)
    if post.revised:
        _revise(home, comment, post)
    return comment


def _revise(home: Path, comment: Any, post: Post) -> None:
    from spirit.comment.utils import post_comment_update, pre_comment_update  # noqa: PLC0415 - needs the settings

    pre_comment_update(comment)
    comment.comment, comment.comment_html, comment.is_modified = (
        markdown(post, project.FILES),
        _rendered(home, post),
        True,
    )
    comment.save()
    post_comment_update(comment)


def _rendered(home: Path, post: Post) -> str:
    from spirit.core.utils.markdown import Markdown  # noqa: PLC0415 - needs the settings

    for block in post.blocks:
        if block.kind == "file":
            project.attach(home, block.text)
    return str(Markdown().render(markdown(post, project.FILES)))


def _places(keys: Mapping[str, int]) -> dict[str, Place]:
    """Return the page of each comment: removed ones keep their places."""
    comments = project.model("spirit_comment.Comment").objects
    places: dict[int, Place] = {}
    for topic in project.model("spirit_topic.Topic").objects.all():
        for number, key in enumerate(comments.filter(topic=topic).order_by("date").values_list("pk", flat=True)):
            page = number // PAGE_SIZE + 1
            places[key] = Place(topic.get_absolute_url() + (f"?page={page}" if page > 1 else ""))
    return {name: places[key] for name, key in keys.items()}
