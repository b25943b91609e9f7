"""Files of schedules: what is wrong is said at its line, with what to write instead."""

from datetime import timedelta
from pathlib import Path

import pytest

from aahcrawler.schedule.schedule_check import check_schedule
from aahcrawler.schedule.schedule_file import Schedule
from aahcrawler.schedule.units_file import Units
from online_analysis.icd import IcdError

ICD = "id: {id}\ncontact: test@example.org\nseeds: [http://site.test/]\ntopic: {{keywords: [harbour]}}\n"


def test_a_schedule_is_read() -> None:
    schedule = Schedule.parse(b"crawls:\n  forum: {definition: forum.yaml, every: day}\n")
    assert schedule.crawls["forum"].every == timedelta(days=1)
    assert schedule.parallel == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "s.yaml:1: is empty; write a schedule: begin with `crawls`"),
        ("crawls: {}", "s.yaml:1: crawls: "),
        ("crawl:\n  a: {definition: a.yaml, every: day}", "crawl: is no field of a schedule; write `crawls`"),
        ("crawls:\n  a: {definition: a.yaml}", "s.yaml:2: crawls.a: has no rhythm, or several; write one of"),
        ("crawls:\n  a: {definition: a, every: day, at: [6:00]}", "crawls.a.at[0]: is no time of day; write hours"),
        ("crawls:\n  a: {definition: a, every: 1 s}", "crawls.a.every: is too short; write a minute or more"),
        ("crawls:\n  a: {definition: a, every: 60}", "crawls.a.every: has no unit; write one, such as `60 min`"),
        ("crawls:\n  a: {definition: a, adaptive: {least: '1.5'}}", "crawls.a.adaptive.least: has no unit; write"),
        (
            "budget: 500\ncrawls:\n  a: {definition: a, every: day}",
            "s.yaml:1: budget: is no number of downloads in a time",
        ),
        ("crawls:\n  a: {definition: a, every: moon}", "crawls.a.every: is no duration"),
        ("crawls:\n  a: {definition: a, at: [06:00], on: [monday, moonday]}", "crawls.a.on[1]: is no day of the week"),
        ("crawls:\n  a: {definition: a, at: [06:00], zone: Mars}", "crawls.a.zone: is no time zone; write one"),
        ("crawls:\n  a/b: {definition: a, every: day}", "is no safe folder name"),
        (
            "crawls:\n  a: {definition: a, adaptive: {least: week, greatest: day}}",
            "crawls.a.adaptive: has a least interval that is longer than the greatest",
        ),
        (
            "tell: {mail: {to: [a@b.test], sender: a@b.test, user: x, password: y}}\ncrawls: {}",
            "tell.mail.password: is a secret in plain text; write {env: NAME}",
        ),
        (
            "tell: {webhook: {url: 'ftp://x'}}\ncrawls:\n  a: {definition: a, every: day}",
            "tell.webhook.url: ",
        ),
    ],
)
def test_mistakes_are_told_with_their_line(text: str, said: str) -> None:
    with pytest.raises(IcdError) as raised:
        Schedule.parse(text.encode(), "s.yaml")
    assert said in str(raised.value)


def test_what_a_schedule_names_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOOK_SECRET", raising=False)
    (tmp_path / "a.yaml").write_text(ICD.format(id="a"), "utf-8")
    (tmp_path / "b.yaml").write_text(ICD.format(id="a"), "utf-8")
    (tmp_path / "c.yaml").write_text(ICD.format(id="c") + "scope: {dney: [x]}\n", "utf-8")
    file, text = (
        tmp_path / "schedule.yaml",
        b"""
crawls:
  a: {definition: a.yaml, every: day}
  b: {definition: b.yaml, every: day}
  c: {definition: c.yaml, every: day}
  d: {definition: d.yaml, every: day}
tell:
  webhook: {url: 'http://127.0.0.1/', secret: {env: HOOK_SECRET}}
  command: [no-such-program-anywhere]
""",
    )
    file.write_bytes(text)
    said = "\n".join(map(str, check_schedule(file, tmp_path / "schedule-units.yaml")))
    assert "schedule.yaml:4: crawls.b.definition: has the same output as crawls.a" in said
    assert "c.yaml:5: scope.dney: is no field of an ICD; write `deny`" in said
    assert "d.yaml" in said
    assert "tell.webhook.secret: is in the variable HOOK_SECRET, which is not set here" in said
    assert "tell.command[0]: is no program of this machine" in said


def test_mistakes_of_a_file_hide_none_of_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ICD.format(id="a"), "utf-8")
    file, units = tmp_path / "schedule.yaml", tmp_path / "schedule-units.yaml"
    units.write_text("name: x\nunits: {x: {url: 'https://x.test'}}\nstand_by: [one, none]\n", "utf-8")
    file.write_bytes(
        b"""
crawls:
  one: {definition: a.yaml, every: day}
  one: {definition: a.yaml, every: week}
  two: {definition: a.yaml, evry: day}
  three: {definition: none.yaml, at: ["25:00"]}
  four: {definition: none.yaml, every: day}
tell: {command: [no-such-program-anywhere]}
"""
    )
    said = "\n".join(map(str, check_schedule(file, units)))
    for each in (
        "schedule.yaml:4: crawls.one: is given twice",
        "schedule.yaml:5: crawls.two.evry: is no field of a schedule; write `every`",
        "schedule.yaml:5: crawls.two.definition: has the same output as crawls.one",
        "schedule.yaml:6: crawls.three.at[0]: is no time of day",
        "schedule.yaml:6: crawls.three.definition: names no file",
    ):
        assert each in said
    assert "tell.command[0]: is no program of this machine" in said
    assert "names none, which is no crawl" in said
    assert "names one" not in said


@pytest.mark.parametrize(("kind", "asked"), [(Schedule, "a schedule"), (Units, "a list of units")])
def test_files_beside_one_another_are_read_the_same_way(
    tmp_path: Path, kind: type[Schedule] | type[Units], asked: str
) -> None:
    def said(path: Path) -> str:
        with pytest.raises(IcdError) as raised:
            kind.load(path)
        return str(raised.value)

    assert said(tmp_path).startswith(f"{tmp_path}:1: cannot be read (Is a directory); ")
    assert "cannot be read (No such file" in said(tmp_path / "none")
    file = tmp_path / "file.yaml"
    for content, told in ((b"", f"1: is empty; write {asked}"), (b"a: [", "is no YAML"), (b"zzz: 1\n", "1: zzz: ")):
        file.write_bytes(content)
        assert told in said(file)
