import re
from pathlib import Path

from pydantic import BaseModel

from online_analysis.icd import Icd
from online_analysis.icd.explanations import model_in
from online_analysis.icd.scoping import Condition

APART = {
    "scope.rules.",
    "network.accounts.password.",
    "network.logins.fields.",
    "network.proxy.password.",
    "network.hosts.proxy.password.",
    "network.hosts.client_passphrase.",
}
"""Fields whose own fields are described in a section, or on a page, of their own."""
DOCS = (Path(__file__).parents[2] / "docs" / "icd.md").read_text(encoding="utf-8")


def field_names(model: type[BaseModel], prefix: str = "") -> list[str]:
    names = []
    for name, field in model.model_fields.items():
        inner = None if f"{prefix}{name}." in APART else model_in(field)
        names += field_names(inner, f"{prefix}{name}.") if inner else [f"{prefix}{name}"]
    return names


def example() -> str:
    found = re.search(r"```yaml\n(.*?)```", DOCS, re.DOTALL)
    assert found
    return found[1]


def test_the_example_loads_and_names_every_field() -> None:
    icd = Icd.parse(example().encode())
    assert icd.id == "solar-villages"
    for name in field_names(Icd):
        assert re.search(rf"\b{name.rpartition('.')[2]}:", example()), name


def test_every_field_is_described() -> None:
    table = DOCS.partition("## Fields")[2].partition("\n## ")[0]
    described = set(
        re.findall(r"`([a-z0-9_.]+)`", "\n".join(line.split("|")[1] for line in table.splitlines() if "|" in line))
    )
    assert described == set(field_names(Icd))


def test_the_defaults_are_those_of_the_table() -> None:
    fields = Icd.parse(b"id: a\ncontact: a@b.org\nseeds: [http://a.test/]\ntopic: {keywords: [sun]}\n").model_dump(
        mode="json"
    )
    rows = re.findall(r"^\| `([a-z_]+)\.([a-z_]+)` \| `?(obey|seeds|max|[\d.]+(?: s)?)`? \|", DOCS, re.MULTILINE)
    assert len(rows) > 12
    for section, field, default in rows:
        if fields[section] is not None:
            assert str(fields[section][field]).removesuffix(" s") == default.removesuffix(" s"), field


def test_every_condition_of_a_rule_is_described() -> None:
    section = DOCS.partition("## Rules of the scope")[2].partition("\n## ")[0]
    described = set(re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE))
    assert described == {field.alias or name for name, field in Condition.model_fields.items()}
