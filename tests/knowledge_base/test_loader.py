"""Files that are wrong are refused with every mistake, its line, and what to write instead."""

import os
from pathlib import Path

import pytest

from knowledge_base.file_selection import OWN_NAME, SHIPPED, VARIABLE, folders_for, named_folders
from knowledge_base.loader import FOLDER, SCHEMA, LoadError, load, load_files
from knowledge_base.model import Application

KIND = FOLDER / "kinds" / "web-forum.xml"

GOOD = """<?xml version="1.0"?>
<application name="Tiny" kind="web-forum">
  <detect>
    <pattern strength="proof" generator="TinyForum" cite="header.tpl"/>
  </detect>
  <level name="list" role="intermediate">
    <when path="**/list.php"/>
    <address path="**/list.php"/>
    <navigate name="threads" to="thread"><select css="a.thread"/></navigate>
  </level>
  <level name="thread" role="terminal">
    <when css="#thread"/>
    <address path="**/thread.php" parameters="id" optional="page"/>
    <paging parameter="page"/>
    <pages name="next"/>
    <extract name="posts" type="post" many="yes">
      <item css="div.post"/>
      <identity trim="p"><select xpath="@id"/></identity>
      <field name="body"><select css=".text"/></field>
    </extract>
  </level>
</application>
"""


def problems(tmp_path: Path, *texts: str) -> list[tuple[int, str]]:
    files = []
    for number, text in enumerate(texts):
        files.append(tmp_path / f"app{number}.xml")
        files[-1].write_text(text, encoding="utf-8")
    with pytest.raises(LoadError) as caught:
        load_files([KIND], files)
    assert all(problem.file.startswith(str(tmp_path)) for problem in caught.value.problems)
    return [(problem.line, problem.message) for problem in caught.value.problems]


def test_what_is_shipped_loads_and_cites() -> None:
    knowledge_base = load()
    names = [application.name for application in knowledge_base.applications]
    assert {"MyBB", "WordPress", "phpBB"} <= set(names)
    assert len(set(names)) == len(names) == len(list((FOLDER / "applications").glob("*.xml")))
    assert all(pattern.cite for application in knowledge_base.applications for pattern in application.patterns)


def test_a_good_file_loads(tmp_path: Path) -> None:
    file = tmp_path / "tiny.xml"
    file.write_text(GOOD)
    application = load_files([KIND], [file]).application("Tiny")
    assert [(level.name, level.role) for level in application.levels] == [
        ("list", "intermediate"),
        ("thread", "terminal"),
    ]


def test_what_did_not_change_is_not_read_again(tmp_path: Path) -> None:
    kind, same, changed, within = (tmp_path / name for name in ("kind.xml", "same.xml", "changed.xml", "within.xml"))
    kind.write_bytes(KIND.read_bytes())
    same.write_text(GOOD.replace("Tiny", "Same").replace("#thread", "#same"))
    changed.write_text(GOOD)
    extending = '<application name="Within" kind="web-forum" extends="Tiny">'
    detect = '<detect><pattern host="within.example" strength="proof"/></detect></application>'
    within.write_text(extending + detect)
    files = [same, changed, within]

    def loaded() -> list[Application]:
        knowledge_base = load_files([kind], files)
        return [knowledge_base.application(name) for name in ("Same", "Tiny", "Within")]

    first = loaded()
    changed.write_text(GOOD.replace("a.thread", "a.topic"))
    second = loaded()
    assert [new is old for new, old in zip(second, first, strict=True)] == [True, False, False]
    assert second[2].level("list") is second[1].level("list")
    kind.write_text(kind.read_text("utf-8").replace('<drop parameter="fbclid"/>', ""), "utf-8")
    assert not set(loaded()) & set(second)


def test_mistakes_are_told_again_at_each_loading(tmp_path: Path) -> None:
    wrong = GOOD.replace("a.thread", "a..thread")
    assert problems(tmp_path, wrong) == problems(tmp_path, wrong)
    # The line of a mistake is that of the file at hand.
    assert [line for line, _ in problems(tmp_path, wrong.replace("  <detect>", "\n\n  <detect>"))] == [11]


@pytest.mark.parametrize(
    ("wrong", "right", "line", "says"),
    [
        ('role="terminal"', 'role="final"', 11, "intermediate"),
        ('css="a.thread"', 'css="a..thread"', 9, "no CSS selector"),
        ('css="a.thread"', 'xpath="//a["', 9, "no XPath"),
        ('css="a.thread"', 'css="a" xpath="//a"', 9, "write either css or xpath"),
        ('xpath="@id"', "xpath=\"re:test(@id, '(a+)+$')\"", 18, "contains()"),
        ('to="thread"', 'to="topic"', 9, "the levels are list, thread"),
        ('<pages name="next"/>', '<pages name="next" to="list"/>', 15, "add <paging>"),
        ('type="post"', 'type="photo"', 16, "its types are"),
        ('<identity trim="p"><select xpath="@id"/></identity>', "", 16, "identity"),
        ('role="terminal"', 'role="intermediate"', 16, "navigate only"),
        ('generator="TinyForum"', 'generator="TinyForum" script="x.js"', 4, "exactly one of"),
        ('generator="TinyForum"', 'css="a"', 4, "literal="),
        ('generator="TinyForum"', 'generator="é&amp;"', 4, "literal="),
        ('<paging parameter="page"/>', '<paging part="/page/"/>', 14, "#"),
        ('<field name="body">', '<field name="body" zone="Mars/Base">', 19, "dates"),
        ('<field name="body">', '<field name="date" kind="datetime" zone="Mars/Base">', 19, "Europe/Berlin"),
        ('<pages name="next"/>', '<use level="list" action="next"/>', 15, "it has threads"),
        ('kind="web-forum"', 'kind="blog"', 2, "web-forum"),
        ('<when css="#thread"/>', "<when/>", 12, "empty"),
        ('<when css="#thread"/>', "<wehn/>", 12, "when"),
    ],
)
def test_each_mistake_is_named_with_its_line(tmp_path: Path, wrong: str, right: str, line: int, says: str) -> None:
    assert wrong in GOOD
    found = problems(tmp_path, GOOD.replace(wrong, right, 1))
    assert any(at == line and says in message for at, message in found), found


def test_all_mistakes_of_all_files_come_at_once(tmp_path: Path) -> None:
    one = GOOD.replace('css="a.thread"', 'css="a..b"').replace('css=".text"', 'xpath="//["')
    two = GOOD.replace('role="terminal"', 'role="x"').replace('css=".text"', 'xpath="//["')
    found = problems(tmp_path, one, two)
    assert sorted(line for line, _ in found) == [9, 11, 19, 19]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('<!DOCTYPE a [<!ENTITY x "y">]><application name="&x;" kind="web-forum"/>', "not allowed"),
        ('<!doctype html SYSTEM "file:///etc/passwd"><application/>', "not allowed"),
        ("<application", "not well-formed"),
        ("<kind/>", "must hold one <application>"),
        ("", "not well-formed"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, says: str) -> None:
    assert says in problems(tmp_path, text)[0][1]


def test_utf_16_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "app.xml"
    file.write_bytes(GOOD.encode("utf-16"))
    with pytest.raises(LoadError, match="UTF-8"):
        load_files([KIND], [file])


def test_equal_claims_are_a_conflict(tmp_path: Path) -> None:
    found = problems(tmp_path, GOOD, GOOD.replace("Tiny", "Other", 1))
    assert any("claims as strongly" in message for _, message in found)


def test_every_element_of_the_schema_is_documented() -> None:
    from lxml import etree

    schema = etree.parse(SCHEMA)
    names = {"xs": "http://www.w3.org/2001/XMLSchema"}
    bare = schema.xpath(
        "//xs:element[@name][not(xs:annotation/xs:documentation)] | //xs:attribute[@name][not(xs:annotation)]",
        namespaces=names,
    )
    assert [element.get("name") for element in bare] == []


def folder_with(folder: Path, *texts: str) -> Path:
    (folder / "applications").mkdir(parents=True)
    for number, text in enumerate(texts):
        (folder / "applications" / f"{number}.xml").write_text(text, encoding="utf-8")
    return folder


def test_a_later_folder_replaces_applications_of_the_same_name(tmp_path: Path) -> None:
    first = folder_with(tmp_path / "first", GOOD, GOOD.replace('"Tiny"', '"Other"').replace("TinyForum", "Other"))
    second = folder_with(tmp_path / "second", "<!-- name='x' -->" + GOOD.partition("?>")[2].replace("list", "index"))
    loaded = load(first, second)
    assert [application.name for application in loaded.applications] == ["Other", "Tiny"]
    assert [level.name for level in loaded.application("Tiny").levels] == ["index", "thread"]
    assert [level.name for level in load(second, first).application("Tiny").levels] == ["list", "thread"]
    assert len(load(SHIPPED, second).applications) == len(load().applications) + 1


def test_kinds_come_from_the_last_folder_that_has_them(tmp_path: Path) -> None:
    first, second = folder_with(tmp_path / "first"), folder_with(tmp_path / "second", GOOD)
    (first / "kinds").mkdir()
    (first / "kinds" / "web-forum.xml").write_text(KIND.read_text("utf-8").replace('title="', 'title="My '), "utf-8")
    assert [kind.title[:3] for kind in load(first, second).kinds] == ["My "]
    assert {kind.name for kind in load(second).kinds} == {kind.name for kind in load().kinds}


def test_folders_that_cannot_be_meant_are_refused(tmp_path: Path) -> None:
    good, nowhere = folder_with(tmp_path / "good", GOOD), tmp_path / "nowhere"
    cased = folder_with(tmp_path / "cased", GOOD.replace('"Tiny"', '"TINY"').replace("TinyForum", "Board"))
    with pytest.raises(LoadError) as caught:
        load(good, nowhere, cased)
    assert any(p.file == str(nowhere) and "name a folder" in p.message for p in caught.value.problems)
    assert any(p.file.startswith(str(cased)) and "writes this name as Tiny" in p.message for p in caught.value.problems)
    broken = folder_with(tmp_path / "broken", GOOD.replace('name="Tiny"', ""), "<application")
    with pytest.raises(LoadError) as caught:
        load(good, broken)
    assert {Path(p.file).name for p in caught.value.problems} == {"0.xml", "1.xml"}


def test_folders_are_named_in_one_setting(tmp_path: Path) -> None:
    assert named_folders("") == named_folders(os.pathsep) == (SHIPPED,)
    assert named_folders(f"shipped{os.pathsep} {tmp_path}") == (SHIPPED, tmp_path)


def test_own_entries_beside_a_crawl_are_stronger_than_what_ships_and_weaker_than_what_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    named, own, crawl = tmp_path / "named", tmp_path / OWN_NAME, tmp_path / "crawl"
    assert folders_for(crawl) == (SHIPPED,), "there are no own entries yet"
    (own / "applications").mkdir(parents=True)
    assert folders_for(crawl) == (SHIPPED, own)
    assert folders_for(crawl, (SHIPPED, named)) == (SHIPPED, own, named)
    assert folders_for(crawl, (named,)) == (own, named)
    assert folders_for(crawl, (SHIPPED, named, own)) == (SHIPPED, named, own)
    monkeypatch.setenv(VARIABLE, f"shipped{os.pathsep}{named}")
    assert folders_for(crawl) == (SHIPPED, own, named)
