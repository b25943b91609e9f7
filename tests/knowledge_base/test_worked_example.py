"""The application that the documentation works through: its commands print what the text says."""

import re
from pathlib import Path

import pytest

from aahcrawler.helper import ApplicationAwareHelper
from knowledge_base.loader import FOLDER, load_files
from knowledge_base.model import KnowledgeBase
from tests.helper.saved_pages import html_page, plain
from tests.knowledge_base.worked_example import DOCUMENT, finished_file, outputs, tutorial

TEXT = DOCUMENT.read_text(encoding="utf-8")
REFERENCE = TEXT.partition("\n## ")[2].replace(tutorial(TEXT), "")
KINDS = sorted(FOLDER.glob("kinds/*.xml"))

GUEST = """<html><head><meta name="generator" content="TinyForum 2.1"></head><body><div id="topic">
<h1 class="subject">Knots</h1><div class="entry" id="entry-4"><p class="who">Visitor</p>
<p class="when">3.7.2024 14:05</p>
<div class="text">Which knot?<p class="edited">edited</p></div></div></div>
<a href="topic.php?id=7&amp;page=2">2</a> <a href="reply.php?id=7">Reply</a></body></html>"""


@pytest.fixture
def knowledge_base(tmp_path: Path) -> KnowledgeBase:
    file = tmp_path / "tinyforum.xml"
    file.write_text(finished_file(TEXT), encoding="utf-8")
    return load_files(KINDS, [file])


@pytest.mark.starts
def test_the_commands_print_what_the_text_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    worked = list(outputs(TEXT))
    assert len(worked) >= 12
    for output in worked:
        assert output.printed == output.expected, output.command


def test_the_finished_file_reads_what_it_was_not_written_for(knowledge_base: KnowledgeBase) -> None:
    page = html_page("http://t.example/forum/topic.php?id=7&session=3", GUEST)
    assistance = ApplicationAwareHelper(knowledge_base).assist(page)
    assert [plain(item) for item in assistance.objects] == [
        {
            "iri": "http://t.example/forum/topic.php?id=7#entry-4",
            "type": "post",
            "title": "Knots",
            "author": "Visitor",
            "date": "2024-07-03T11:05:00+00:00",
            "body": "Which knot?",
            "part_of": "http://t.example/forum/topic.php?id=7",
        }
    ]
    assert [link.url for link in assistance.document.outlinks] == ["http://t.example/forum/topic.php?id=7&page=2"]
    assert [link.reason.value for link in assistance.refused] == ["reply-form"]


WRAPPED = {
    "application": "{}",
    "level": "{head}{}</application>",
    "extract": "{head}<level name='thread' role='terminal'><when css='.x'/>{}</level></application>",
    "navigate": "{head}<level name='thread' role='terminal'><when css='.x'/>{}</level></application>",
    "pattern": "<application name='X' kind='web-forum'><detect>{}</detect>{level}</application>",
    "canonical": "{head}{}{level}</application>",
    "avoid": "{head}{}{level}</application>",
    "ignore": "{head}{}{level}</application>",
    "listings": "{head}{}<level name='front' role='intermediate' start='yes'><when css='.x'/></level></application>",
    "needs-browser": "{head}{}{level}</application>",
    "behaviour": "{head}{}{level}</application>",
}
HEAD = "<application name='X' kind='web-forum'><detect><pattern strength='proof' generator='Xyz'/></detect>"
LEVEL = "<level name='thread' role='terminal'><when css='.x'/></level>"
SNIPPETS = re.findall(r"^```xml\n(.*?)^```$", REFERENCE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.strip()[:40])
def test_every_example_of_the_reference_is_valid(snippet: str, tmp_path: Path) -> None:
    first = re.match(r"\s*<([a-z-]+)", snippet)
    assert first is not None
    file = tmp_path / "x.xml"
    file.write_text(WRAPPED[first[1]].replace("{head}", HEAD).replace("{level}", LEVEL).replace("{}", snippet))
    others = [FOLDER / "applications" / "phpbb.xml", FOLDER / "applications" / "wordpress.xml"]
    assert load_files(KINDS, [file, *others]).applications


def test_the_reference_names_every_element_of_the_format() -> None:
    schema = (FOLDER / "schema" / "knowledge-base.xsd").read_text(encoding="utf-8")
    elements = set(re.findall(r'<xs:element name="([a-z-]+)"', schema))
    assert {name for name in elements if not re.search(rf"[<`]{name}\b", TEXT)} == set()


def test_the_reference_names_every_kind_of_application() -> None:
    assert {file.stem for file in KINDS if f"`{file.stem}`" not in TEXT} == set()
