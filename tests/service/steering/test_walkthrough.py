"""The commands of docs/service.md that steer a crawl, as a shell runs them."""

import json
import re
import subprocess
from pathlib import Path

from aahcrawler.frontier.protocol import Offer, State
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from tests.crawl.crawling import PROJECT
from tests.service.asking import begun, running, serving

DEFINITION = """\
id: my-crawl
contact: test@example.org
seeds: [https://forum.example.org/]
topic: {{keywords: [flood]}}
output: {output}
"""


def test_the_walkthrough_does_what_the_documentation_says(tmp_path: Path) -> None:
    section = (PROJECT / "docs" / "service.md").read_text("utf-8").partition("\n## Steering\n")[2]
    block = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    assert block is not None
    folder, file = tmp_path / "crawl", tmp_path / "my-crawl.yaml"
    file.write_text(DEFINITION.format(output=json.dumps(str(folder))), "utf-8")
    icd = begun(folder, id="my-crawl", seeds=["https://forum.example.org/"])
    note = {"file": str(file), "working_folder": str(tmp_path), "host": "elsewhere", "pid": 1}
    (folder / "started.json").write_text(json.dumps(note), "utf-8")
    with running(folder, icd) as frontier, serving(ServiceSettings(Catalog([folder]))) as service:
        frontier.offer(
            [
                Offer("https://forum.example.org/thread/17", "example.org", 0.2),
                Offer("https://ads.example.org/", "example.org", 0.1),
            ]
        )
        script = block[1].replace("8380", str(service.port)).replace("curl -s", "curl -sS --fail-with-body -w '\\n'")
        ran = subprocess.run(["bash", "-e", "-c", script], capture_output=True, text=True, timeout=300, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        answers = [json.loads(line) for line in ran.stdout.splitlines()]
        assert len(answers) == block[1].count("curl ")
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
    assert "pages: 20000" in file.read_text("utf-8")
