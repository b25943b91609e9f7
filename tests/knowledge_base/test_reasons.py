"""The words for reasons are the same in the code, the schema and the documentation, which says what each means."""

import re
from pathlib import Path

from lxml import etree

from knowledge_base.loader import SCHEMA
from knowledge_base.url_rules import Reason

DOCUMENT = Path(__file__).parents[2] / "docs" / "knowledge-base.md"


def test_the_documentation_says_what_every_reason_means() -> None:
    table = DOCUMENT.read_text("utf-8").partition("| reason | what the URL is |\n|---|---|\n")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(.+?)` \| .{12,} \|$", table, re.MULTILINE) == [reason.value for reason in Reason]


def test_the_schema_allows_the_same_words() -> None:
    words = etree.parse(SCHEMA).findall(".//{*}simpleType[@name='Reason']//{*}enumeration")
    assert [word.get("value") for word in words] == [reason.value for reason in Reason]
