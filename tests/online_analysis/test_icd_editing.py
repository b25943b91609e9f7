import re
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from online_analysis.icd import Icd, IcdError
from online_analysis.icd.editing import edited, path_text, steps
from online_analysis.icd.yaml_source import MAX_DEFINITION_LENGTH, read_source
from tests.online_analysis.definitions import SMALLEST
from tests.online_analysis.test_icd_docs import example

DEMO = (Path(__file__).parents[2] / "examples" / "demo.yaml").read_text(encoding="utf-8")
COMMENTED = """\
# About the crawl.
id: solar   # short

contact: 'archive@example.org'
seeds:
  # The oldest.
  - https://a.example/   # first
  - "https://b.example/"

  # A young one.
  - https://c.example/


topic:
  keywords: [sun,   # of all
    "wind", rain]  # water
  # Names.
  entities: []

limits: {pages: 10, time: 1 h}
scope:
  rules:
    - name: near
      require: {site: seeds}
    - refuse:
        url: /x/
# The end.
"""


def lines_changed(old: str, new: str) -> tuple[list[str], list[str]]:
    before, after = old.splitlines(), new.splitlines()
    return [line for line in before if line not in after], [line for line in after if line not in before]


@pytest.mark.parametrize("text", [DEMO, example(), COMMENTED, COMMENTED.replace("\n", "\r\n"), "\ufeff" + COMMENTED])
def test_what_is_set_to_what_it_is_stays_byte_for_byte(text: str) -> None:
    data = read_source(text.removeprefix("\ufeff").encode(), "a.yaml").data
    assert edited(text, {}) == text
    assert edited(text, data) == text


def test_one_field_changes_one_line() -> None:
    new = edited(DEMO, {"limits.pages": 200})
    assert lines_changed(DEMO, new) == (["  pages: 110"], ["  pages: 200"])
    new = edited(COMMENTED, {"limits.time": timedelta(hours=2), "id": "lunar", "seeds[1]": "https://z.example/"})
    assert lines_changed(COMMENTED, new)[1] == [
        "id: lunar   # short",
        '  - "https://z.example/"',
        "limits: {pages: 10, time: 7200 s}",
    ]


def test_entries_come_and_go_with_what_is_said_of_the_others_kept() -> None:
    new = edited(COMMENTED, {"seeds": ["https://a.example/", "https://c.example/", "https://d.example/"]})
    assert lines_changed(COMMENTED, new) == (['  - "https://b.example/"'], ["  - https://d.example/"])
    assert new.count("#") == COMMENTED.count("#")
    new = edited(COMMENTED, {"topic.keywords": ["sun", "rain", "a: b"], "topic.entities": ["Freiburg"]})
    assert '[sun,   # of all\n    rain, "a: b"]  # water' in new
    assert "  entities: [Freiburg]\n" in new
    new = edited(COMMENTED, {"seeds[0]": None, "seeds[2]": None, "seeds[3]": "https://d.example/"})
    assert read_source(new.encode(), "").data["seeds"] == ["https://b.example/", "https://d.example/"]


def test_new_fields_stand_where_the_documentation_has_them() -> None:
    new = edited(
        COMMENTED, {"title": "Sun", "traps.pages": 7, "politeness": {"delay": "2 s"}, "scope.sites": "anywhere"}
    )
    names = re.findall(r"^(\w+):", new, re.MULTILINE)
    assert names.index("title") == 1
    assert names.index("traps") == names.index("scope") + 1
    assert "  sites: anywhere\n  rules:" in new
    assert "\n\npoliteness:\n  delay: 2 s\n" in new
    name = 'politeness.domains["www.example.org"].delay'
    assert "domains: {www.example.org: {delay: 5 s}}" in edited(new, {name: "5 s"})


def test_a_removed_field_takes_an_emptied_section_with_it_and_no_comment_outside_of_it() -> None:
    new = edited(COMMENTED, {"limits.pages": None, "limits.time": None, "scope.rules[1]": None, "event.start": None})
    assert "limits" not in new
    assert "refuse" not in new
    assert new.endswith("# The end.\n")
    assert edited(COMMENTED, {"topic.posts": None}) == COMMENTED


def test_texts_are_quoted_where_a_reader_would_take_them_for_something_else() -> None:
    odd = ["null", "*x", "- a", "a # b", "a: b", "x,y", '"', "[", "é 😀", "no", " a ", "2024-05-01", "~", "#1"]
    new = edited(SMALLEST, {"topic.keywords": odd, "title": "yes: no"})
    assert read_source(new.encode(), "").data["topic"] == {"keywords": odd}
    assert "no" in new
    assert '"no"' not in new


@pytest.mark.parametrize(
    ("text", "changes", "said"),
    [
        ("id: &a x\nseeds: *a\n", {"id": "b"}, "uses an alias"),
        ("a: [" * 40 + "]" * 40, {"id": "b"}, "nested too deeply"),
        ("id: !x a\n", {"id": "b"}, "has a tag"),
        ("id: a\nid: b\n", {"id": "c"}, "given twice"),
        ("id: [\n", {"id": "c"}, "is no YAML"),
        ("- a\n", {"id": "c"}, "holds no fields"),
        ("#" * (MAX_DEFINITION_LENGTH + 1), {"id": "c"}, "is larger than"),
        ("id: a\x07\n", {"id": "c"}, "control character"),
        ("id: \ud800\n", {"id": "c"}, "UTF-8"),
        ("id: a\n", {"id.x": "c"}, "is no field of what stands there"),
        ("id: a\n", {"id[0]": "c"}, "holds no list"),
        ("seeds: [a]\n", {"seeds[2]": "c"}, "is entry 2 of a list that has 1"),
        ("id: a\n", {"title": "a\x07"}, "control character"),
    ],
)
def test_a_text_that_cannot_be_edited_is_told_from_one_that_can(
    text: str, changes: dict[str, object], said: str
) -> None:
    with pytest.raises(IcdError, match=said):
        edited(text, changes)


@pytest.mark.parametrize("name", ["", ".", "a..b", "a[", "a[x]", "[0]", 'a["x]', "a." * 30 + "a"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no name of a field"):
        steps(name)


@given(st.lists(st.text(min_size=1, max_size=8) | st.integers(0, 10**6), min_size=1, max_size=6), st.text(min_size=1))
def test_a_path_is_read_back_as_it_is_written(path: list[str | int], first: str) -> None:
    assert steps(path_text((first, *path))) == (first, *path)


words = st.text(st.characters(exclude_categories=("Cs", "Cc", "Co", "Cn", "Zl", "Zp")), min_size=1, max_size=12)
values = st.recursive(
    words,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.from_regex("[a-z]{1,4}", fullmatch=True), inner, max_size=4)
    ),
    max_leaves=12,
)
fields = st.dictionaries(st.sampled_from(["id", "seeds", "topic", "scope", "limits", "other"]), values, min_size=1)


@pytest.mark.slow
@settings(deadline=None)
@given(fields, fields, st.booleans())
def test_any_value_can_be_set_over_any_other(old: dict[str, object], new: dict[str, object], windows: bool) -> None:
    text = edited("# head\nid: a  # tail\n", old)
    text = text.replace("\n", "\r\n") if windows else text
    result = edited(text, new)
    data = read_source(result.encode(), "").data
    assert {name: data[name] for name in new} == new
    assert data == read_source(text.encode(), "").data | new
    assert result.startswith("# head")


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8),
    st.lists(st.sampled_from("abcdefg"), max_size=8),
    st.booleans(),
)
def test_lists_keep_the_comments_of_entries_that_stay(old: list[str], new: list[str], in_lines: bool) -> None:
    entries = (
        "".join(f"\n  - {each}  # on {each}{n}" for n, each in enumerate(old)) if in_lines else f" [{', '.join(old)}]"
    )
    text = f"id: x\nseeds:{entries}\n\n# end\ntitle: y\n"
    result = edited(text, {"seeds": new})
    assert read_source(result.encode(), "").data["seeds"] == new
    assert result.endswith("\n\n# end\ntitle: y\n")
    if new[:1] == old[:1] and in_lines:
        assert f"# on {old[0]}0" in result


@pytest.mark.slow
def test_many_entries_are_edited_in_linear_time() -> None:
    seeds = [f"http://s{n}.example/" for n in range(6_000)]
    text = edited(SMALLEST, {"seeds": seeds})
    shorter = edited(text, {"seeds": seeds[::2]})
    assert Icd.parse(shorter.encode()).seeds == tuple(seeds[::2])
