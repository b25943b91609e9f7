"""The words for reasons are the same in the code, the schema and the documentation, which says what each means."""

import re
from pathlib import Path

from lxml import etree

from knowledge_base.loader import SCHEMA
from knowledge_base.reason_meanings import MEANINGS
from knowledge_base.url_rules import Reason

DOCUMENT = Path(__file__).parents[2] / "docs" / "knowledge-base.md"


def test_every_reason_has_a_meaning_and_the_documentation_lists_it() -> None:
    table = DOCUMENT.read_text("utf-8").partition("| reason | what the URL is |\n|---|---|\n")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(.+?)` \| (.+?) \|$", table, re.MULTILINE) == [
        (reason.value, MEANINGS[reason]) for reason in Reason
    ]


def test_the_schema_allows_the_same_words() -> None:
    words = etree.parse(SCHEMA).findall(".//{*}simpleType[@name='Reason']//{*}enumeration")
    assert [word.get("value") for word in words] == [reason.value for reason in Reason]
