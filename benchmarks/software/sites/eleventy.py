"""Eleventy, a generator of static sites: articles with remarks below them, in templates that stand beside this module.

Texts are files in Markdown, and a change means that the whole site is generated anew.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks.software.content import Content, Edit, Place, Thread, edited, html, markdown

TEMPLATES = Path(__file__).with_name("eleventy_templates")
CONTENT = "content.json"


def create(home: Path, content: Content) -> Mapping[str, Place]:
    """Write the texts and generate the site; return where posts are."""
    source = home / "source"
    for name in ("layouts", "notes", "look", "files", "_data"):
        (source / name).mkdir(parents=True, exist_ok=True)
    for name in ("base.njk", "note.njk"):
        shutil.copy(TEMPLATES / name, source / "layouts")
    for name in ("list.njk", "subject.njk", "all.njk", "about.njk"):
        shutil.copy(TEMPLATES / name, source)
    shutil.copy(TEMPLATES / "config.cjs", source / "eleventy.config.cjs")
    shutil.copy(TEMPLATES / "notes.css", source / "look")
    return _generate(home, content)


def edit(home: Path, edits: tuple[Edit, ...]) -> Mapping[str, Place]:
    """Change the texts and generate the site anew; return where posts are now."""
    return _generate(home, edited(Content.read(home / CONTENT), edits))


def serve(home: Path, port: int) -> None:
    """Serve the generated files."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(home / "source" / "public"))
    ThreadingHTTPServer(("127.0.0.1", port), handler).serve_forever()


def _generate(home: Path, content: Content) -> dict[str, Place]:
    content.write(home / CONTENT)
    source = home / "source"
    (source / "_data" / "subjects.json").write_text(json.dumps(content.forums), "utf-8")
    signatures = {person.name: person.signature for person in content.people}
    for thread in content.threads:
        _write(source, thread, signatures)
    command = Path(sys.prefix) / "node_modules" / ".bin" / "eleventy"
    subprocess.run([command, "--quiet"], cwd=source, check=True)
    return {post.id: Place(f"/notes/{thread.id}/") for thread, post in content.posts()}


def _write(source: Path, thread: Thread, signatures: Mapping[str, str]) -> None:
    first, *others = thread.posts
    for block in (block for post in thread.posts for block in post.blocks if block.kind == "file"):
        (source / "files" / block.text).write_text(f"The content of {block.text}.\n", "utf-8")
    said: dict[str, Any] = {
        "layout": "note.njk",
        "tags": ["note"],
        "title": thread.title,
        "date": first.date,
        "author": first.author,
        "shown": _shown(first.date),
        "subject": thread.forum,
        "start": " ".join(first.plain.split()[:12]) + " ...",
        "remarks": [
            {
                "number": number,
                "author": post.author,
                "shown": _shown(post.date),
                "html": html(post),
                "signature": signatures[post.author],
            }
            for number, post in enumerate(others, 1)
        ],
    }
    text = f"---json\n{json.dumps(said)}\n---\n{markdown(first)}"
    (source / "notes" / f"{thread.id}.md").write_text(text, "utf-8")


def _shown(date: str) -> str:
    moment = datetime.fromisoformat(date)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"
