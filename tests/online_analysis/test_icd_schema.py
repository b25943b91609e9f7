import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor

from online_analysis.icd import Icd
from online_analysis.icd.json_schema import SCHEMA_ID, icd_schema
from tests.online_analysis.definitions import SMALLEST
from tests.online_analysis.test_icd_docs import DOCS, example

SCHEMA = icd_schema()
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)
BLOCKS = re.findall(r"```yaml\n(.*?)```", DOCS, re.DOTALL)
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))


class _AsInJson(SafeConstructor):
    """Reads YAML 1.2 as editors do, for which a date is a text."""


_AsInJson.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)


def read(text: str) -> Any:
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _AsInJson
    return yaml.load(text)


def mistakes(text: str) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(read(text))]


def test_the_schema_is_one_of_its_dialect() -> None:
    jsonschema_rs.meta.validate(SCHEMA)
    assert SCHEMA["$id"] == SCHEMA_ID
    assert SCHEMA["$schema"].endswith("2020-12/schema")


@pytest.mark.parametrize("path", EXAMPLES, ids=str)
def test_definitions_that_ship_are_as_the_schema_says(path: Path) -> None:
    assert mistakes(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: str(block)[:12])
def test_definitions_in_the_documentation_are_as_the_schema_says(block: str) -> None:
    whole = read(SMALLEST) | read(block)
    assert [error.message for error in VALIDATOR.iter_errors(whole)] == []
    assert len(BLOCKS) >= 2


@pytest.mark.parametrize(
    "lines",
    [
        "title: 2024",
        "limits: {time: 90, bytes: 1.5 GB}",
        "limits:\n  # pages: 10\n",
        "network: {proxy: direct, allow_private: true, headers: {a.example: {X: y, Z: {env: A}}}}",
        "scoring: {spam_hosts: hosts.txt, weights: {text: 1, of_a_plugin: 2}}",
        "scope: {rules: [{refuse: {not: {site: seeds}, any: {url: /a/, via: [b, c]}}}], languages: [no]}",
        "archive: {reserve: }",
    ],
)
def test_what_may_be_written_in_several_ways_may_be(lines: str) -> None:
    assert mistakes(SMALLEST + lines) == []


@pytest.mark.parametrize(
    "lines",
    [
        "limits: {pages: many}",
        "limits: {pages: -1}",
        "limits: {time: soon}",
        "limits: {bytes: 3 pages}",
        "limits: {page: 3}",
        "scope: {sites: everywhere}",
        "scope: {languages: [german]}",
        "scope: {rules: [{refuse: {uri: /x/}}]}",
        "event: {start: 2024-05-01}",
        "event: {start: yesterday, end: 2024-05-01}",
        "scoring: {explore: 0.7}",
        "scoring: {weights: {text: -1}}",
        "network: {accounts: {a.example: {user: me, password: secret}}}",
        "network: {proxy: {url: a, password: secret}}",
        "titel: x",
    ],
)
def test_mistakes_are_caught_in_the_editor(lines: str) -> None:
    assert mistakes(SMALLEST + lines)


@pytest.mark.parametrize("without", ["id", "contact", "seeds"])
def test_what_must_be_given_must_be(without: str) -> None:
    assert mistakes("\n".join(line for line in SMALLEST.splitlines() if not line.startswith(without)))


def test_whatever_a_definition_writes_of_itself_is_as_the_schema_says() -> None:
    assert mistakes(Icd.parse(example().encode()).to_yaml()) == []


def test_every_field_has_a_title_a_sentence_and_no_field_of_another_name_is_admitted() -> None:
    objects = [SCHEMA, *(each for each in SCHEMA["$defs"].values() if "properties" in each)]
    assert len(objects) > 15
    for each in objects:
        assert each["additionalProperties"] is False
        for name, field in each["properties"].items():
            assert field["title"], name
            assert field["description"].endswith("."), name
    assert SCHEMA["$defs"]["Politeness"]["properties"]["delay"]["default"] == "1 s"
    assert SCHEMA["$defs"]["Archive"]["properties"]["size"]["default"] == "1 GB"
