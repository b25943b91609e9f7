"""A file that extends another says only what is different."""

from pathlib import Path

import pytest

from knowledge_base.loader import LoadError
from knowledge_base.model import Navigate
from knowledge_base.url_rules import ParsedUrl
from tests.knowledge_base.full_application import FULL, line_of, load_texts

SITE = """<application name="Site" kind="wiki" extends="Full">
  <detect><pattern host="site.example" strength="proof"/></detect>
  <needs-browser css="#own-app"/>
  <canonical><drop parameter="own"/></canonical>
  <avoid><url reason="calendar" path="**/index.php" query="edit/day/*"/></avoid>
  <ignore css="a.own"/>
  <level name="talk" role="terminal">
    <when css="#own-talk"/>
    <address path="**/talk.php" parameters="id=#"/>
    <use level="list" action="pages"/>
    <navigate name="lists" to="list"><select css="a.list" documented="yes"/></navigate>
    <extract name="page" type="page">
      <item css="body"/>
      <field name="title"><select css="h1"/></field>
    </extract>
  </level>
  <level name="index" role="intermediate">
    <when css="#index"/>
    <navigate name="lists" to="list"><select css="a"/></navigate>
  </level>
</application>
"""


def messages(tmp_path: Path, *texts: str) -> list[tuple[str, int, str]]:
    with pytest.raises(LoadError) as caught:
        load_texts(tmp_path, *texts)
    return [(Path(problem.file).name, problem.line, problem.message) for problem in caught.value.problems]


@pytest.mark.parametrize("texts", [(SITE, FULL), (FULL, SITE)])
def test_what_is_not_said_is_taken_over_in_whatever_order_files_come(tmp_path: Path, texts: tuple[str, str]) -> None:
    knowledge_base = load_texts(tmp_path, *texts)
    full, site = knowledge_base.application("Full"), knowledge_base.application("Site")
    assert site.hosts == ("site.example",)
    assert not site.whole_host
    assert [level.name for level in site.levels] == ["talk", "index", "list"]
    assert site.level("list") is full.level("list")
    assert [action.name for action in site.level("talk").actions] == ["lists", "page", "pages"]
    assert site.level("talk").actions[-1] is full.level("list").actions[-1]
    assert [selector.source for selector in site.ignored][1:] == [selector.source for selector in full.ignored]
    assert site.needs_browser[1:] == full.needs_browser
    assert len(site.ignored) == len(site.needs_browser) == 2


def test_rules_of_the_file_come_before_those_it_extends(tmp_path: Path) -> None:
    site = load_texts(tmp_path, SITE, FULL).application("Site")
    reasons = []
    for query in ("edit/day/2", "edit/birds"):
        refusal = site.refusal(ParsedUrl.parse(f"http://site.example/index.php?{query}"))
        assert refusal is not None
        reasons.append(refusal.reason.value)
    assert reasons == ["calendar", "edit"]
    given = ParsedUrl.parse("http://site.example/x?own=1&from=3&utm_source=a&id=4")
    assert site.canonical(given).url == "http://site.example/x?id=4"
    assert len(site.avoid.rules) == 2


@pytest.mark.parametrize(
    ("full", "site", "drafts"),
    [("", "", (False, False)), ("", ' draft="yes"', (False, True)), (' draft="yes"', "", (True, True))],
)
def test_guesses_that_are_taken_over_make_a_draft(
    tmp_path: Path, full: str, site: str, drafts: tuple[bool, bool]
) -> None:
    texts = (text.replace(' kind="wiki"', f' kind="wiki"{said}', 1) for text, said in ((FULL, full), (SITE, site)))
    knowledge_base = load_texts(tmp_path, *texts)
    assert tuple(knowledge_base.application(name).draft for name in ("Full", "Site")) == drafts


def test_a_file_can_extend_one_that_extends_another(tmp_path: Path) -> None:
    third = '<application name="Third" kind="wiki" extends="Site"><detect><pattern host="t.example" strength="proof"/></detect></application>'  # noqa: E501
    knowledge_base = load_texts(tmp_path, third, SITE, FULL)
    third_application, site = knowledge_base.application("Third"), knowledge_base.application("Site")
    assert third_application.levels == site.levels
    assert third_application.hosts == ("t.example",)


def test_an_unknown_name_is_a_mistake_with_a_guess(tmp_path: Path) -> None:
    found = messages(tmp_path, SITE.replace('extends="Full"', 'extends="Ful"'), FULL)
    assert [(file, line) for file, line, _ in found] == [("app0.xml", 1)]
    assert "did you mean Full?" in found[0][2]


def test_a_broken_file_cannot_be_extended(tmp_path: Path) -> None:
    found = messages(tmp_path, SITE, FULL.replace('role="terminal"', 'role="final"'))
    assert [(file, line) for file, line, _ in found] == [
        ("app0.xml", 1),
        ("app1.xml", line_of(FULL, 'role="terminal"')),
    ]
    assert "no valid file describes Full" in found[0][2]


@pytest.mark.parametrize("name", ["Full", "Site"])
def test_files_cannot_extend_one_another(tmp_path: Path, name: str) -> None:
    circle = FULL.replace('name="Full"', f'name="Full" extends="{name}"', 1)
    found = messages(tmp_path, SITE, circle)
    assert any("extends this file in turn" in message for _, _, message in found)
    assert len(found) == 1


def test_a_long_row_of_files_is_refused_and_not_a_crash(tmp_path: Path) -> None:
    def link(number: int) -> str:
        detect = f'<detect><pattern host="a{number}.example" strength="proof"/></detect>'
        return f'<application name="A{number}" kind="wiki" extends="A{number + 1}">{detect}</application>'

    found = messages(tmp_path, *map(link, range(500)), FULL.replace('name="Full"', 'name="A500"', 1))
    assert any("files extend one another in a row" in message for _, _, message in found)


def test_a_level_that_the_extended_file_lacks_is_its_mistake_alone(tmp_path: Path) -> None:
    wrong = FULL.replace('<navigate name="more" to="talk">', '<navigate name="more" to="nowhere">')
    assert [(file, line) for file, line, _ in messages(tmp_path, SITE, wrong)] == [
        ("app1.xml", line_of(wrong, 'to="nowhere"'))
    ]


def test_kinds_must_agree(tmp_path: Path) -> None:
    found = messages(tmp_path, SITE.replace('kind="wiki"', 'kind="blog"'), FULL)
    assert any('this file needs kind="wiki"' in message for _, _, message in found)


def test_a_level_that_is_redefined_must_bear_what_leads_to_it(tmp_path: Path) -> None:
    level = '<level name="list" role="intermediate"><when css="#l"/><navigate name="t" to="talk"><select css="a"/></navigate></level>'  # noqa: E501
    found = messages(tmp_path, SITE.replace("</application>", level + "</application>"), FULL)
    assert any("documented links need URLs, and level list has none" in message for _, _, message in found)


def test_nothing_is_taken_from_an_action_of_a_redefined_level(tmp_path: Path) -> None:
    talk = load_texts(tmp_path, SITE, FULL).application("Site").level("talk")
    action = next(action for action in talk.actions if action.name == "lists")
    assert isinstance(action, Navigate)
    assert action.when_none == ()
    assert talk.variants == ()
