"""The application that the documentation works through is a valid file and does what the text says."""

import re
from pathlib import Path

from aahcrawler.helper import ApplicationAwareHelper
from knowledge_base.loader import FOLDER, load_files
from tests.helper.saved_pages import html_page, plain

DOCUMENT = Path(__file__).parents[2] / "docs" / "knowledge-base.md"

TOPIC = """<html><head><meta name="generator" content="TinyForum 2.1"></head><body><div id="topic"><h1>Knots</h1>
<div class="entry" id="entry-4"><p class="who"><a href="/user.php?id=1">Ada</a></p><p class="when">3.2.2024 14:05</p>
<div class="text">Which knot?<p class="edited-by">edited</p></div></div></div>
<a href="topic.php?id=7&amp;page=2">2</a> <a href="reply.php?id=7">Reply</a></body></html>"""


def test_the_worked_example_works(tmp_path: Path) -> None:
    file = tmp_path / "tinyforum.xml"
    file.write_text("".join(re.findall(r"```xml\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)))
    knowledge_base = load_files([FOLDER / "kinds" / "web-forum.xml"], [file])
    assistance = ApplicationAwareHelper(knowledge_base).assist(html_page("http://t.example/topic.php?id=7", TOPIC))
    assert [plain(item) for item in assistance.objects] == [
        {
            "iri": "http://t.example/topic.php?id=7#entry-4",
            "type": "post",
            "title": "Knots",
            "author": "Ada",
            "date": "2024-02-03T14:05:00+00:00",
            "body": "Which knot?",
            "part_of": "http://t.example/topic.php?id=7",
        }
    ]
    assert [link.url for link in assistance.document.outlinks] == ["http://t.example/topic.php?id=7&page=2"]
    assert [link.reason.value for link in assistance.refused] == ["reply-form"]
