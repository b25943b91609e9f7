"""The walk of ``docs/first-site.md`` leads where it says, on the forum of the demo."""

import re
import shlex
import socket
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import yaml

from examples.serve import WORLD, serve
from tests.crawl.crawling import PATIENCE, running

PAGE = (Path(__file__).parents[2] / "docs" / "first-site.md").read_text("utf-8")
BLOCKS = [(kind, text) for kind, text in re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)]
URL, HOST = "https://forum.example.org/", "harbourforum.example"
OTHERS = {"make", ".", "mkdir", "cd", "python3", "~/pywb/bin/pip", "~/pywb/bin/wayback", "systemctl", "loginctl"}
"""Commands of the page that are not ours to try here."""


class Walker:
    """Follows the page in a folder of its own, with the demo's server in place of the forum."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self._port = port
        self._definition: dict[str, Any] = {}
        self._said = ""
        self._cockpit = 0
        self.ran: list[str] = []

    def follow(self, kind: str, text: str) -> None:
        """Do what a block says."""
        match kind:
            case "yaml":
                self._define(yaml.safe_load(text))
            case "sh":
                self._said = "".join(self._told(line) for line in text.splitlines())
            case "text":
                assert _without_numbers(text) in _without_numbers(self._said)

    def _define(self, fields: Mapping[str, Any]) -> None:
        self._definition |= fields
        here = {
            "seeds": [self._served(seed) for seed in self._definition["seeds"]],
            "politeness": {"delay": 0},
            "network": {"allow_private": ["127.0.0.0/8"], "resolve": {HOST: f"127.0.0.1:{self._port}"}},
        }
        (self._folder / "flood-forum.yaml").write_text(yaml.safe_dump(self._definition | here), "utf-8")

    def _told(self, line: str) -> str:
        program, *arguments = shlex.split(line, comments=True)
        if program != "aah":
            assert program in OTHERS, line
            return ""
        if arguments[:2] == ["kb", "explain"]:
            arguments[2:3] = [str(self._front_page()), "--url", arguments[2]]
        with running(*map(self._served, arguments), *self._looked_at(arguments), cwd=self._folder) as command:
            if arguments[0] == "cockpit":
                command.until(self._is_answering)
                command.interrupt()
            ended = command.ended()
        assert ended.code == 0, f"{line}: {ended}"
        self.ran.append(line)
        told = re.sub(r"^now: .*\n", "", ended.out + ended.err, flags=re.MULTILINE)  # A slow machine shows progress.
        return told.replace(f"http://{HOST}/", URL)

    def _looked_at(self, arguments: list[str]) -> tuple[str, ...]:
        """Return what has the cockpit listen where nobody else does."""
        if arguments[0] != "cockpit":
            return ()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._cockpit = free.getsockname()[1]
        return "--port", str(self._cockpit)

    def _is_answering(self) -> bool:
        asking = HTTPConnection("127.0.0.1", self._cockpit, timeout=PATIENCE)
        try:
            asking.request("GET", "/sign-in")
            return asking.getresponse().status == 200
        except OSError:
            return False
        finally:
            asking.close()

    def _front_page(self) -> Path:
        return WORLD / HOST / "pages" / "00001.html"

    def _served(self, text: str) -> str:
        return text.replace(URL, f"http://{HOST}/")


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+", "N", text)


@pytest.fixture(scope="module")
def walker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walker]:
    with serve() as server:
        yield Walker(tmp_path_factory.mktemp("walk"), server.port)


@pytest.mark.slow
def test_the_walk_leads_where_it_says(walker: Walker) -> None:
    for kind, text in BLOCKS:
        walker.follow(kind, text)
    assert len(walker.ran) >= 15
