"""The commands of docs/service.md that steer a crawl, as a shell runs them, and its example of the client."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from aahcrawler.frontier.protocol import Offer, State
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from tests.crawl.crawling import PROJECT
from tests.service.asking import Service, begun, running, serving

DEFINITION = """\
id: my-crawl
contact: test@example.org
seeds: [https://forum.example.org/]
topic: {{keywords: [flood]}}
output: {output}
"""


def example(heading: str, language: str) -> str:
    """Return the first example below a heading of docs/service.md."""
    section = (PROJECT / "docs" / "service.md").read_text("utf-8").partition(f"\n## {heading}\n")[2]
    block = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)
    assert block is not None
    return block[1]


@contextmanager
def steered(place: Path) -> Iterator[tuple[RedisFrontier, Service]]:
    """Serve the crawl of the examples, which some command of another machine has started."""
    folder, file = place / "crawl", place / "my-crawl.yaml"
    file.write_text(DEFINITION.format(output=json.dumps(str(folder))), "utf-8")
    icd = begun(folder, id="my-crawl", seeds=["https://forum.example.org/"])
    note = {"file": str(file), "working_folder": str(place), "host": "elsewhere", "pid": 1}
    (folder / "started.json").write_text(json.dumps(note), "utf-8")
    with running(folder, icd) as frontier, serving(ServiceSettings(Catalog([folder]))) as service:
        yield frontier, service


def test_the_example_of_the_client_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with steered(tmp_path) as (frontier, service):
        frontier.offer([Offer("https://ads.example.org/", "example.org", 0.1)])
        exec(example("From Python", "python").replace("8380", str(service.port)), {})  # noqa: S102
        assert frontier.state("https://forum.example.org/thread/17") is State.QUEUED
    crawls, matched, found, event = capsys.readouterr().out.splitlines()
    assert (crawls, matched, found) == ("['my-crawl']", "1", "0")
    assert event.startswith("status {'id': 'my-crawl'")
    assert "pages: 20000" in (tmp_path / "my-crawl.yaml").read_text("utf-8")


def test_the_walkthrough_does_what_the_documentation_says(tmp_path: Path) -> None:
    block = example("Steering", "sh")
    with steered(tmp_path) as (frontier, service):
        frontier.offer(
            [
                Offer("https://forum.example.org/thread/17", "example.org", 0.2),
                Offer("https://ads.example.org/", "example.org", 0.1),
            ]
        )
        script = block.replace("8380", str(service.port)).replace("curl -s", "curl -sS --fail-with-body -w '\\n'")
        ran = subprocess.run(["bash", "-e", "-c", script], capture_output=True, text=True, timeout=300, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        answers = [json.loads(line) for line in ran.stdout.splitlines()]
        assert len(answers) == block.count("curl ")
        assert [act["act"] for act in answers[-1]["acts"]] == [
            "resume",
            "limits",
            "rescore",
            "readmit",
            "exclude",
            "pause",
        ]
        assert (answers[2]["blocked"], answers[3]["returned"], answers[4]["score"]) == (1, 1, 0.9)
        assert frontier.state("https://ads.example.org/") is State.QUEUED
    assert "pages: 20000" in (tmp_path / "my-crawl.yaml").read_text("utf-8")
