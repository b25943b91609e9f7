import json
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from aahcrawler.definitions import DefinitionError, from_meaning, read_definition
from online_analysis.icd import Icd, changes
from tests.online_analysis.definitions import SMALLEST
from tests.online_analysis.test_icd_properties import definitions


def read_back(icd: Icd, folder: Path) -> Icd:
    (folder / "icd.json").write_text(json.dumps(icd.meaning()))
    return read_definition(folder / "icd.json")


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(definitions())
def test_every_field_survives_in_the_folder_of_a_crawl(tmp_path: Path, fields: dict[str, object]) -> None:
    icd = Icd.parse(yaml.safe_dump(fields, allow_unicode=True).encode())
    again = read_back(icd, tmp_path)
    assert again.meaning() == icd.meaning()
    assert again.output == tmp_path


def test_posts_and_models_that_are_not_here_are_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "posts.jsonl").write_text('{"author": "ann", "text": "see https://a.test/"}')
    (tmp_path / "model").mkdir()
    for name in ("config.cfg", "meta.json"):
        (tmp_path / "model" / name).write_text("")
    text = SMALLEST.replace("keywords: [solar power]", "keywords: [solar power], posts: posts.jsonl")
    icd = Icd.parse((text + "scoring: {entity_model: model}").encode(), tmp_path / "solar.yaml")
    again = from_meaning(icd.meaning(), tmp_path / "elsewhere")
    assert (again.topic.posts, again.posts) == ("posts.jsonl", ())
    assert again.scoring == icd.scoring


def test_analysers_of_plug_ins_keep_their_weights(tmp_path: Path) -> None:
    icd = Icd.parse((SMALLEST + "scoring: {weights: {a.b: 3}}").encode(), analysers=("text", "a.b"))
    assert read_back(icd, tmp_path).scoring.weights == icd.scoring.weights


def test_a_damaged_definition_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "icd.json").write_text("{}")
    with pytest.raises(DefinitionError, match="start the crawl again"):
        read_definition(tmp_path / "icd.json")


SCOPE = b"""
id: scoped
contact: a@example.org
seeds: [http://a.test/]
topic: {keywords: [flood]}
scope:
  canonical: {drop: ["utm_*"], sort: true, index: [index.html], lower_case: [a.test], www: {a.test: drop, b.org: add}}
  rules:
    - refuse: {url: /x/, not: {depth: at most 3}}
    - {name: near, require: {any: [{site: [seeds, b.test]}, {path: "*F?"}, {all: {language: de, via: /y/}}]}}
sources: {sitemaps: guess, feeds: announced, documents: false}
"""


def test_rules_and_spellings_are_read_back() -> None:
    icd = Icd.parse(SCOPE)
    again = from_meaning(icd.meaning(), Path("out"))
    assert changes(icd, again) == ()
    assert {rule.name for rule in again.scope.rules} == {"near", "rule 1"}
    assert again.scope.canonical == icd.scope.canonical


@pytest.mark.parametrize(
    "network",
    [
        "{accounts: {intranet.a.test: {user: me, password: {env: WORD}}, user.test: {user: me, password: {file: /w}}}}",
        "{headers: {a.test: {X.Key: {env: KEY}, env: plain}, test: {}, key.a.test: {file: plain}}}",
        "{hosts: {a.proxy.test: {proxy: {url: direct}}, proxy.url: {ca_file: /a}}, resolve: {a.port: 127.0.0.1}}",
    ],
)
def test_hosts_with_dots_are_read_back(network: str) -> None:
    icd = Icd.parse(SMALLEST.encode() + f"network: {network}\n".encode())
    again = from_meaning(icd.meaning(), Path("out"))
    assert changes(icd, again) == ()
    assert again.network == icd.network
