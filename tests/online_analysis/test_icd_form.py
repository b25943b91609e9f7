import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from online_analysis.icd import Icd, IcdError
from online_analysis.icd.editing import edited
from online_analysis.icd.explanations import model_in
from online_analysis.icd.field_words import CHOICE_WORDS, FIELD_WORDS
from online_analysis.icd.form import YAML_ONLY, Kind, form_fields, form_sections
from online_analysis.icd.form_view import FormView, form_changes, form_view
from online_analysis.icd.text_check import MAX_BYTES, checked_definition
from tests.online_analysis.definitions import SMALLEST
from tests.online_analysis.test_icd_docs import example, field_names

DEMO = Path(__file__).parents[2] / "examples" / "demo.yaml"


def values(view: FormView) -> dict[str, str]:
    """Return what a browser would send back: all fields as they are shown, with its own ends of lines."""
    shown = [field for section in view.sections for field in section.fields]
    sent = {
        field.field.path: field.value.replace("\n", "\r\n") for field in shown if field.field.kind is not Kind.WEIGHTS
    }
    return sent | {row.name: row.value for field in shown for row in field.rows}


def sections_of(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        yield path
        inner = model_in(field)
        if inner is not None and inner.__name__ not in {"Condition", "Secret", "Value"}:
            yield from sections_of(inner, f"{path}.")


def test_every_field_is_in_the_form_or_said_to_be_in_the_yaml_alone() -> None:
    for name in field_names(Icd):
        is_left = any(name == path or name.startswith(f"{path}.") for path in YAML_ONLY)
        assert (name in form_fields()) is not is_left, name
    assert set(form_fields()) <= set(field_names(Icd))


def test_every_field_and_every_choice_has_words() -> None:
    assert set(sections_of(Icd)) <= set(FIELD_WORDS)
    for path, field in form_fields().items():
        assert field.label, path
        assert field.help.endswith("."), path
        assert field.kind is not Kind.CHOICE or {choice.value for choice in field.choices} == set(CHOICE_WORDS[path])
    assert {path for path, field in form_fields().items() if field.is_required} == {"id", "contact", "seeds"}


def test_kinds_bounds_and_defaults_are_those_of_the_sections() -> None:
    fields = form_fields()
    assert [fields[f"limits.{name}"].kind for name in ("pages", "bytes", "time")] == [
        Kind.NUMBER,
        Kind.SIZE,
        Kind.DURATION,
    ]
    assert (fields["scoring.explore"].minimum, fields["scoring.explore"].maximum) == (0, 0.5)
    assert (fields["archive.size"].default, fields["politeness.delay"].default) == ("1 GB", "1 s")
    assert fields["topic.keywords"].example == "solar power\nphotovoltaics"
    assert fields["scope.depth"].kind is Kind.NUMBER
    assert fields["event.start"].kind is Kind.DATE


@pytest.mark.parametrize("text", [example(), DEMO.read_text(encoding="utf-8"), SMALLEST])
def test_a_form_that_comes_back_as_it_was_changes_nothing(text: str) -> None:
    view = form_view(text)
    assert form_changes(text, values(view)) == {}
    assert view.is_readable
    assert not view.elsewhere


def test_defaults_that_are_typed_in_mean_the_same_definition() -> None:
    typed = {
        path: field.default for path, field in form_fields().items() if field.default and " and " not in field.default
    }
    typed = {
        path: value for path, value in typed.items() if path not in {"title", "network.proxy.plain", "archive.reserve"}
    }
    typed = {
        path: value
        for path, value in typed.items()
        if not path.startswith(("event.", "scoring.post_to.", "scoring.relevance."))
    }
    new = edited(SMALLEST, form_changes(SMALLEST, typed))
    assert Icd.parse(new.encode()).meaning() == Icd.parse(SMALLEST.encode()).meaning()
    assert len(typed) > 40


def test_what_is_typed_is_set_and_what_is_emptied_is_removed() -> None:
    sent = {
        "title": " A  title ",
        "seeds": "https://a.example/\r\n\r\nhttps://b.example/\r\n",
        "topic.keywords": "",
        "topic.entities": "Hermann Scheer",
        "limits.pages": "100",
        "scoring.weights.text": "2",
        "scoring.url_patterns": "host:a.example: 0.9\n/shop/: 0",
        "network.allow_private": "true",
        "network.proxy.url": "http://p.example",
        "csrf": "x",
    }
    new = edited(SMALLEST, form_changes(SMALLEST, sent))
    icd = Icd.parse(new.encode())
    assert (icd.title, icd.limits.pages, icd.topic.keywords) == ("A title", 100, ())
    assert icd.seeds == ("https://a.example/", "https://b.example/")
    assert icd.scoring.url_patterns == {"host:a.example": 0.9, "/shop/": 0}
    assert icd.scoring.weights["text"] == 2
    assert len(icd.network.allow_private) == 2
    emptied = edited(
        new, form_changes(new, {"scoring.weights.text": "", "scoring.url_patterns": "", "limits.pages": ""})
    )
    assert "scoring" not in emptied
    assert "limits" not in emptied


def test_the_address_of_a_proxy_that_stands_alone_is_changed_where_it_stands() -> None:
    text = SMALLEST + "network: {proxy: direct}\n"
    changes = form_changes(text, {"network.proxy.url": "http://p.example:3128"})
    assert Icd.parse(edited(text, changes).encode()).network.proxy is not None


def test_mistakes_are_at_their_fields() -> None:
    text = (
        SMALLEST
        + "limits: {pages: -1, time: soon}\nscope:\n  dney: [x]\npoliteness: {domains: {a.example: {delay: x}}}\n"
    )
    found = checked_definition(text)
    assert {"limits.pages", "limits.time", "politeness.domains"} <= set(found.by_field)
    assert [mistake.field for mistake in found.elsewhere] == ["scope.dney"]
    assert found.icd is None
    assert [each.line for each in found.mistakes] == sorted(each.line for each in found.mistakes)
    view = form_view(text)
    (limits,) = [section for section in view.sections if section.section.name == "limits"]
    assert [bool(field.mistakes) for field in limits.fields[:3]] == [True, False, True]
    (polite,) = [section for section in view.sections if section.section.name == "politeness"]
    assert polite.yaml_only[0].mistakes
    missing = checked_definition("id: a\nseeds: [https://a.example/]\ntopic: {}\n")
    assert "contact" in missing.by_field
    view = form_view("id: a\ncontact: a@b.example\nseeds: [https://a.example/]\ntopic: {keywords: [the]}\n")
    (group,) = [section for section in view.sections if section.section.name == "topic"]
    assert "no usable term" in group.mistakes[0].problem


@pytest.mark.parametrize("text", ["id: [", "", "- a", "id: &a x\nb: *a\n", "id: \ud800\n", "#" * (MAX_BYTES + 1)])
def test_a_text_that_is_no_definition_gives_mistakes_and_no_error(text: str) -> None:
    view = form_view(text)
    assert view.checked.mistakes
    assert view.checked.icd is None
    if not view.is_readable:
        with pytest.raises(IcdError):
            form_changes(text, {"id": "b"})


def probing(path: str) -> str:
    return (
        SMALLEST.replace(
            "topic: {keywords: [solar power]}", f'topic: {{keywords: [sun], documents: ["{path}"], posts: "{path}"}}'
        )
        + f'scoring: {{spam_hosts: "{path}", entity_model: "{path}"}}\nnetwork: {{cookies_file: "/etc/passwd"}}\n'
    )


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../secret.txt",
        "a/../../secret.txt",
        "link.txt",
        "/nowhere/at/all",
        "folder/up/secret.txt",
        "C:\\\\x",
    ],
)
def test_a_text_cannot_tell_what_files_there_are(tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret.txt").write_text("secret words of the server", encoding="utf-8")
    inside = tmp_path / "crawl"
    (inside / "folder").mkdir(parents=True)
    (inside / "folder" / "up").symlink_to(tmp_path)
    (inside / "link.txt").symlink_to(tmp_path / "secret.txt")
    text = probing(path)
    for folder in (None, inside):
        found = checked_definition(text, folder)
        assert found.mistakes == (), folder
        assert set(found.unread) == {path.replace("\\\\", "\\")}
        assert found.icd is not None
        assert not found.icd.file_texts
    monkeypatch.setattr(Path, "open", None)
    monkeypatch.setattr(os, "open", None)
    assert checked_definition(text).unread


def test_files_beside_the_definition_are_read_where_there_is_a_folder_for_them(tmp_path: Path) -> None:
    (tmp_path / "sun.txt").write_text("photovoltaics and solar power", encoding="utf-8")
    text = SMALLEST.replace("[solar power]}", "[sun], documents: [sun.txt, moon.txt]}")
    found = checked_definition(text, tmp_path)
    assert [mistake.field for mistake in found.by_field["topic.documents"]] == ["topic.documents[1]"]
    assert "does not exist" in found.mistakes[0].problem
    assert {mistake.file for mistake in found.mistakes} == {"icd.yaml"}
    assert checked_definition(text.replace(", moon.txt", ""), tmp_path).unread == ()


def test_a_definition_is_checked_while_somebody_types() -> None:
    text = example()
    checked_definition(text)
    begun = time.process_time()
    for _ in range(5):
        form_view(text)
    assert (time.process_time() - begun) / 5 < 0.25  # 15 ms on one core; the bound is for machines that do much else.


def test_groups_are_told_apart() -> None:
    names = [section.name for section in form_sections()]
    assert names[:5] == ["crawl", "metadata", "seeds", "topic", "event"]
    assert all(section.fields or section.yaml_only for section in form_sections())
    assert get_args(Icd.model_fields["scope"].annotation) == ()
