"""Askbot, questions and answers made with Django: answers on several pages, comments below answers, tags, members.

Some replies are comments on the answer before them.
"""

import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.software.content import Content, Edit, Place, Post, Thread, hangs, markdown
from benchmarks.software.sites import django_project as project

PAGE_SIZE = 10
SETTINGS = """
from forum.settings import *
# common
ROOT_URLCONF = "forum.urls"
STATICFILES_DIRS = [*STATICFILES_DIRS, ("default/media", os.path.join(ASKBOT_ROOT, "media"))]
COMPRESS_ENABLED, ADMIN_MEDIA_PREFIX = False, STATIC_URL + "admin/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
"""


def create(home: Path, content: Content) -> Mapping[str, Place]:
    """Make the forum and fill it; return where posts are."""
    setup = [sys.executable, str(Path(sys.prefix) / "bin" / "askbot-setup"), "--noinput", "--force", "-r", str(home)]
    setup += ["--proj-name", "forum", "-e", "sqlite", "-d", "forum.db", "--admin-name", "keeper"]
    setup += ["--admin-email", "keeper@example.org", "--domain-name", "example.org", "--language-code", "en"]
    subprocess.run([*setup, "--timezone", "UTC"], cwd=home, check=True, stdout=sys.stderr)
    project.set_up(home, SETTINGS)
    project.make_database()
    _configure(content)
    for number, person in enumerate(content.people):
        user = project.model("auth.User").objects.create_user(person.name, f"member{number}@example.org")
        user.date_joined = datetime.fromisoformat(person.joined)
        user.reputation = 5000
        user.save()
    keys: dict[str, int] = {}
    for thread in content.threads:
        keys |= _ask(home, thread)
    project.keep_keys(home, keys)
    return _places(keys)


def edit(home: Path, edits: tuple[Edit, ...]) -> Mapping[str, Place]:
    """Change the forum as its members do; return where posts are now."""
    project.set_up(home, SETTINGS)
    keys = project.keys(home)
    for change in edits:
        name, user = change.post.id, _user(change.post.author)
        match change.kind:
            case "deleted":
                user.delete_post(_post(keys.pop(name)))
            case "edited":
                user.edit_post(post=_post(keys[name]), body_text=_written(home, change.post))
            case _:
                question = _post(keys[f"{change.thread}-1"])
                keys[name] = _answer(home, change.post, question).pk
    project.keep_keys(home, keys)
    return _places(keys)


def serve(home: Path, port: int) -> None:
    """Serve the forum."""
    project.set_up(home, SETTINGS)
    project.serve(port)


def _configure(content: Content) -> None:
    from askbot.conf import settings  # noqa: PLC0415 - needs the settings of Django

    settings.update("APP_URL", content.address.rstrip("/"))
    settings.update("APP_TITLE", "Ask the Workshop")
    settings.update("DEFAULT_ANSWER_SORT_METHOD", "oldest")
    settings.update("LIMIT_ONE_ANSWER_PER_USER", False)


def _user(name: str) -> Any:
    return project.model("auth.User").objects.get(username=name)


def _post(key: int) -> Any:
    return project.model("askbot.Post").objects.get(pk=key)


def _ask(home: Path, thread: Thread) -> dict[str, int]:
    first, *replies = thread.posts
    question = _user(first.author).post_question(
        title=thread.title,
        body_text=_written(home, first),
        tags=thread.forum.replace(" ", "-").lower(),
        timestamp=datetime.fromisoformat(first.date),
    )
    keys = {first.id: question.pk}
    parent = question
    for number, reply in enumerate(replies, 1):
        if hangs(number):
            date = datetime.fromisoformat(reply.date)
            written = _written(home, reply)
            keys[reply.id] = _user(reply.author).post_comment(parent, body_text=written, timestamp=date).pk
        else:
            parent = _answer(home, reply, question)
            keys[reply.id] = parent.pk
    return keys


def _answer(home: Path, post: Post, question: Any) -> Any:
    return _user(post.author).post_answer(
        question=question, body_text=_written(home, post), timestamp=datetime.fromisoformat(post.date)
    )


def _written(home: Path, post: Post) -> str:
    for block in post.blocks:
        if block.kind == "file":
            project.attach(home, block.text)
    return markdown(post, project.FILES)


def _places(keys: Mapping[str, int]) -> dict[str, Place]:
    """Return the page of each post: comments are where the post is that they are below."""
    pages: dict[int, str] = {}
    for thread in project.model("askbot.Thread").objects.all():
        address = thread.get_absolute_url()
        posts = project.model("askbot.Post").objects.filter(thread=thread, deleted=False)
        pages |= dict.fromkeys(posts.filter(post_type="question").values_list("pk", flat=True), address)
        for number, key in enumerate(
            posts.filter(post_type="answer").order_by("added_at").values_list("pk", flat=True)
        ):
            page = number // PAGE_SIZE + 1
            pages[key] = f"{address}?sort=oldest&page={page}" if page > 1 else address
        for key, parent in posts.filter(post_type="comment").values_list("pk", "parent_id"):
            pages[key] = pages[parent]
    return {name: Place(pages[key]) for name, key in keys.items()}
