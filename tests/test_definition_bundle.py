"""Definitions that are sent to workers on other machines."""

import json
from pathlib import Path

import pytest

from aahcrawler.definition_bundle import pack_definition, unpack_definition
from aahcrawler.frontier.registry import Definition
from online_analysis.icd import IcdError
from tests.crawl.crawling import write_icd

ICD = """\
id: test
contact: test@example.org
seeds: {seeds}
topic: {{keywords: [harbour], documents: [texts/flood.html, ../outside.txt], posts: posts.jsonl}}
scoring: {{spam_hosts: spam.txt}}
output: {output}
"""
FILES = {
    "texts/flood.html": "<html><body><p>The harbour stood under the flood.</p></body></html>",
    "../outside.txt": "The dike broke.",
    "posts.jsonl": json.dumps({"author": "ann", "text": "see http://a.test/x"}),
    "spam.txt": "spam.test # of all",
}


def test_a_definition_means_the_same_elsewhere(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name, text in FILES.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, "utf-8")
    icd, definition = pack_definition(write_icd(home, "http://a.test/", text=ICD))
    for name in FILES:
        (home / name).unlink()
    there = unpack_definition(definition, tmp_path / "there")
    assert there.meaning() == icd.meaning()
    assert (there.file_texts, there.posts) == (icd.file_texts, icd.posts)
    assert there.output == tmp_path / "there"
    assert set(definition.files) == set(FILES)


def test_what_has_not_travelled_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("harbour and dike", "utf-8")
    text = ICD.format(seeds='["http://a.test/"]', output="x").replace("../outside.txt", str(secret))
    with pytest.raises(IcdError, match=r"the file '.*secret.txt' does not exist"):
        unpack_definition(Definition(text.encode()), tmp_path / "there")


def test_what_only_one_machine_has_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    for name in ("config.cfg", "meta.json"):
        (model / name).write_text("", "utf-8")
    text = ICD.partition("topic")[0] + "topic: {{keywords: [harbour]}}\nscoring: {{entity_model: model}}\n"
    with pytest.raises(IcdError, match=r"icd.yaml:5: scoring.entity_model: .* is not installed on other machines"):
        pack_definition(write_icd(tmp_path, "http://a.test/", text=text))
