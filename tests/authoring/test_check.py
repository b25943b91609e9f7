"""What is wrong with a knowledge base is found, named with its line, and nothing can hang the one who asks."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.editor.checks import cost
from aahcrawler.editor.checks.check_findings import Finding
from aahcrawler.editor.checks.cost import SHAPES, common_page, stress_page, words_of
from aahcrawler.editor.checks.examination import Checked, Task, check, reports

GOOD = """<?xml version="1.0"?>
<application name="Tiny" kind="web-forum">
  <detect>
    <pattern strength="proof" generator="TinyForum" cite="header.tpl, Tiny 1"/>
  </detect>
  <avoid>
    <url reason="print-view" path="**/print.php"/>
  </avoid>
  <level name="list" role="intermediate">
    <when css="#list" cite="list.tpl, Tiny 1"/>
    <address path="**/list.php"/>
    <navigate name="threads" to="thread"><select css="a.thread" cite="list.tpl, Tiny 1"/></navigate>
  </level>
  <level name="thread" role="terminal">
    <when css="#thread" cite="thread.tpl, Tiny 1"/>
    <address path="**/thread.php" parameters="id"/>
    <extract name="posts" type="post" many="yes">
      <item css="div.post" cite="thread.tpl, Tiny 1"/>
      <identity trim="p"><select xpath="@id" cite="thread.tpl, Tiny 1"/></identity>
      <field name="body"><select css=".text" cite="thread.tpl, Tiny 1"/></field>
    </extract>
  </level>
</application>
"""
PAGE = (
    '<!doctype html><meta name="generator" content="TinyForum 1"><div id="list"><a class="thread" href="t">T</a></div>'
)


def folder(tmp_path: Path, *texts: str) -> Path:
    files = tmp_path / "kb" / "applications"
    files.mkdir(parents=True)
    for number, text in enumerate(texts):
        (files / f"app{number}.xml").write_text(text, encoding="utf-8")
    return tmp_path / "kb"


def checked(tmp_path: Path, *texts: str, seconds: float = 30) -> Checked:
    return check((folder(tmp_path, *texts),), seconds)


def told(found: Checked) -> list[tuple[str, int, str]]:
    return [(finding.severity.value, finding.place.line, finding.message) for finding in found.findings]


@pytest.mark.starts
def test_nothing_is_wrong(tmp_path: Path) -> None:
    found = checked(tmp_path, GOOD)
    assert not found.findings
    assert list(found.lines()) == [
        "1 application, 1 documented in every entry; of 7 entries 0 without cite, 0 unproven",
        "0 errors, 0 warnings",
    ]


@pytest.mark.starts
def test_hopeless_expressions_are_ended_and_named_and_the_rest_is_examined(tmp_path: Path) -> None:
    nested = "//*[count(//*[count(//*[count(//*) > 1]) > 1]) > 1]"
    text = GOOD.replace('css="#thread"', f'xpath="{nested.replace(">", "&gt;")}"').replace(
        'css=".text"', 'xpath="x:y()"'
    )
    found = told(checked(tmp_path, text, seconds=3))
    (ended,) = (message for _, line, message in found if line == 15 and "ended after 3 s" in message)
    assert nested[:60] in ended
    assert "write it once in front" in ended
    assert any(line == 20 and "cannot be evaluated" in message for _, line, message in found), found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "right", "line", "severity", "says"),
    [
        ('css="#list"', 'css="#list" xpath="//p"', 10, "error", "either css or xpath"),
        ('xpath="@id"', "xpath=\"re:test(@id, '(a+)+$')\"", 19, "error", "contains()"),
        ('css="#thread"', 'css="#list"', 14, "error", "never reached"),
        ('path="**/print.php"', 'path="**/thread.php"', 16, "error", "avoid rule (print-view"),
        ('    <address path="**/thread.php" parameters="id"/>\n', "", 12, "warning", "add <address>"),
        ('css="a.thread"', 'xpath="//*[not(//*[not(//*[@x])])]"', 12, "error", "once in front"),
    ],
)
def test_each_mistake_is_named_with_its_line(
    tmp_path: Path, wrong: str, right: str, line: int, severity: str, says: str
) -> None:
    assert wrong in GOOD
    base = folder(tmp_path, GOOD.replace(wrong, right, 1))
    task = Task((base,), seconds=60)
    found = told(Checked([report for report in reports(task, lambda _: None) if isinstance(report, Finding)]))
    assert any(entry[:2] == (severity, line) and says in entry[2] for entry in found), found


def test_a_narrower_level_before_a_wider_one_is_no_mistake(tmp_path: Path) -> None:
    text = GOOD.replace('<when css="#list"', '<when path="**/list.php" css="#thread"', 1)
    task = Task((folder(tmp_path, text),), seconds=60)
    assert not [report for report in reports(task, lambda _: None) if isinstance(report, Finding)]


@pytest.mark.starts
def test_two_applications_that_claim_a_saved_page(tmp_path: Path) -> None:
    rival = GOOD.replace('name="Tiny"', 'name="Rival"').replace('generator="TinyForum"', 'css="a.thread"')
    base = folder(tmp_path, GOOD, rival)
    saved = base / "applications" / "pages" / "tiny"
    saved.mkdir(parents=True)
    (saved / "list.html").write_text(PAGE)
    (saved / "list.json").write_text('{"url": "http://a.test/list.php", "application": "Tiny", "level": "list"}')
    found = [(finding.place.file, finding.message) for finding in check((base,)).findings]
    assert [Path(file).name for file, _ in found] == ["app0.xml"]
    assert "Tiny and as strongly by Rival" in found[0][1]


@pytest.mark.starts
def test_what_is_not_documented_is_counted(tmp_path: Path) -> None:
    text = GOOD.replace(' cite="header.tpl, Tiny 1"', "").replace('"list.tpl, Tiny 1"', '"unproven: seen on a.test"', 1)
    lines = list(checked(tmp_path, text).lines(unproven=True))
    assert lines[0] == "Tiny: 5 of 7 entries documented"
    assert lines[1].endswith('app0.xml:4: no cite: generator="TinyForum"')
    assert lines[2].endswith('app0.xml:10: unproven: css="#list"')
    assert lines[3] == "1 application, 0 documented in every entry; of 7 entries 1 without cite, 1 unproven"


@pytest.mark.starts
def test_the_command(tmp_path: Path) -> None:
    good = CliRunner().invoke(app, ["kb", "check", str(folder(tmp_path, GOOD))])
    assert (good.exit_code, good.stdout.splitlines()[-1]) == (0, "0 errors, 0 warnings")
    file = tmp_path / "kb" / "applications" / "app0.xml"
    file.write_text(GOOD.replace('role="terminal"', 'role="final"'))
    bad = CliRunner().invoke(app, ["kb", "check", str(tmp_path / "kb")])
    assert bad.exit_code == 2
    assert bad.stdout.startswith(f"{file}:14: error: ")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    messages = [str(report) for report in reports(Task((tmp_path / "nowhere",), seconds=60), lambda _: None)]
    assert any("name a folder that holds one" in message for message in messages)


@pytest.mark.parametrize("shape", SHAPES)
def test_pages_hold_what_is_looked_for(shape: str) -> None:
    source = "//form[@id='login'][contains(@class, 'a & b')]/a"
    assert common_page(shape, 2_000).xpath("//a[@href]")
    if "tables" not in shape:
        assert stress_page(shape, words_of(source), 2_000).xpath("//form[@id='login' or contains(@class, 'a & b')]")


@pytest.mark.parametrize(
    ("source", "linear"),
    [
        ("descendant::a[contains(concat(' ', normalize-space(@class), ' '), ' x ')]", True),
        ("@id", True),
        ("//a | //p[h1 or h2]", True),
        ("//div//a", False),
        ("//a[.//b]", False),
        ("//a[count(b) > 1]", False),
        ("//a[ancestor::div]", False),
        ("//a[contains(., 'x')]", False),
        ("//a[position() = last()]", False),
    ],
)
def test_what_needs_no_measuring(source: str, linear: bool) -> None:
    assert cost.is_linear(source) is linear


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("//a[not(//p)]", "once in front"),
        ("//a[ancestor::div]", "ancestor:: walks"),
        ("//ul[.//a]", "name the steps down"),
        ("//li[following-sibling::li]", "add [1]"),
        ("//a[count(b) > 1]", "path[2]"),
        ("//div[contains(., 'x')]", "the whole text"),
        ("//div//div", "first"),
    ],
)
def test_advice_fits_the_expression(source: str, says: str) -> None:
    assert says in cost.advice(source)
