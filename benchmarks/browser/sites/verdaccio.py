"""Verdaccio: a registry of packages whose site is a React application over its API."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.browser.installing import environment, served
from benchmarks.browser.passing_on import passed_on
from benchmarks.browser.site import Act, Deed, Parts, Site, View
from benchmarks.recorded import free_port
from benchmarks.software.content import Thread
from benchmarks.software.markup import markdown
from benchmarks.software.writing import Size, Writer

_SIZE: Final = Size(single=28, few=0, overhanging=0, long=0)
_CONFIGURATION: Final = """
storage: {home}/storage
web: {{title: Parts}}
uplinks: {{}}
packages: {{'**': {{access: $all}}}}
log: {{type: stdout, format: pretty, level: warn}}
"""
_PARTS: Final = (Parts(".markdown-body", heading="[data-testid='sidebar'] h6, aside h6, h6"),)


def _package(thread: Thread) -> dict[str, Any]:
    """Return the manifest of a package whose readme is the post that opens a thread."""
    post = thread.posts[0]
    name = _name(thread)
    version = {
        "name": name,
        "version": "1.0.0",
        "description": thread.title,
        "author": {"name": post.author, "email": "", "url": "", "avatar": ""},
        "readme": markdown(post),
        "license": "MIT",
        "dist": {
            "tarball": f"http://localhost/{name}/-/{name}-1.0.0.tgz",
            "shasum": "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        },
        "_id": f"{name}@1.0.0",
    }
    when = f"{post.date[:16]}:00.000Z"
    return {
        "name": name,
        "versions": {"1.0.0": version},
        "time": {"created": when, "modified": when, "1.0.0": when},
        "users": {},
        "dist-tags": {"latest": "1.0.0"},
        "_uplinks": {},
        "_distfiles": {},
        "_attachments": {},
        "_rev": "1-0",
        "_id": name,
        "readme": markdown(post),
    }


def _name(thread: Thread) -> str:
    words = "".join(each if each.isalnum() else " " for each in thread.title.lower()).split()
    return "-".join([*words[:4], thread.id])


@contextmanager
def opened(folder: Path, origin: str) -> Iterator[Site]:  # noqa: ARG001 - others need it
    """Fill a registry and serve it. Raises ``InstallationError``."""
    installed = environment("verdaccio")
    threads = Writer(19).content(10, _SIZE).threads
    storage = folder / "storage"
    for thread in threads:
        (storage / _name(thread)).mkdir(parents=True)
        (storage / _name(thread) / "package.json").write_text(json.dumps(_package(thread)), "utf-8")
    known = {"list": [_name(thread) for thread in threads], "secret": "0123456789abcdef" * 2}
    (storage / ".verdaccio-db.json").write_text(json.dumps(known), "utf-8")
    (folder / "config.yaml").write_text(_CONFIGURATION.format(home=folder), "utf-8")
    port = free_port()
    program = installed / "node_modules" / "verdaccio" / "bin" / "verdaccio"
    listening = ("--config", folder / "config.yaml", "--listen", f"127.0.0.1:{port}")
    with served(["node", program, *listening], port, folder):
        views = [View("/", acts=(Act(Deed.SCROLL),), shows="a[href*='/-/web/detail/']")]
        views += [View(f"/-/web/detail/{_name(thread)}", _PARTS, shows=".markdown-body") for thread in threads]
        yield Site("verdaccio", passed_on(port), views)
