from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import etree

from aahcrawler.helper import ApplicationAwareHelper
from benchmarks.quick import read
from benchmarks.recorded import site_pages
from benchmarks.trimming import TrimmingError, trim
from benchmarks.usage import alternatives, pruned
from knowledge_base.loader import load
from tests.benchmarks import tinysite

Found = Callable[[str], list[str]]


@pytest.fixture(name="found", scope="module")
def _found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """Return a function that looks for attributes in the trimmed file of the application."""
    folder = tmp_path_factory.mktemp("trimming")
    source, site = tinysite.knowledge_base(folder / "whole"), tinysite.record(folder)
    assert trim(site_pages(site), folder / "trimmed", source, ("TinyForum",)) == ("TinyForum",)
    root = etree.parse(folder / "trimmed" / "applications" / "tinyforum.xml").getroot()
    return lambda expression: [str(value) for value in etree.XPath(expression)(root)]


def test_signs_that_no_page_shows_are_dropped(found: Found) -> None:
    assert found("detect/pattern/@generator") == ["TinyForum"]
    assert found("detect/pattern/@cookie") == []
    assert found("detect/pattern/@css") == ["p.tf-credit a"]


def test_branches_that_find_nothing_are_dropped(found: Found) -> None:
    assert found("level[@name='topic']/when/@css") == ["div.entry"]
    assert found("//extract[@name='posts']/item/@xpath") == ["//div[@class='entry']"]
    assert found("//extract/field[@name='body']/without/@css") == [".advert"]
    assert found("//navigate[@name='back']/select/@css") == ["a.up"]


def test_alternatives_that_would_find_something_stay_although_another_one_comes_first(found: Found) -> None:
    assert found("//field[@name='date']/select/@css") == ["time"]
    assert found("//field[@name='author']/select/@css") == [".writer"]
    assert found("//field[@name='author']/select/@xpath") == []


def test_fields_and_actions_without_anything_left_are_dropped(found: Found) -> None:
    assert found("//extract/@name") == ["posts"]
    assert "mood" not in found("//field/@name")
    assert found("level[@name='board']/navigate/@name") == ["topics", "more", "people"]


def test_an_action_waits_only_for_those_that_are_left(found: Found) -> None:
    assert found("//navigate[@name='more']/@when-none") == ["topics"]


def test_rules_for_addresses_stay(found: Found) -> None:
    assert found("avoid/url/@path") == ["**/reply"]
    assert found("level[@name='topic']/unless/@path") == ["**/archive/**"]
    assert found("level[@name='topic']/unless/@css") == []
    assert found("level[@name='topic']/address/@path") == ["**/topic/#"]


def test_a_level_without_signs_stays_only_where_something_leads_to_it(found: Found) -> None:
    assert found("level/@name") == ["topic", "board", "person"]
    assert found("level[@name='person']/when/@xpath") == ["/.."]
    assert found("level[@name='person']/address/@path") == ["**/person/#"]
    assert found("level[@name='person']/navigate/@name") == []


def test_what_is_left_reads_the_site_as_the_whole_does(tmp_path: Path) -> None:
    source, site = tinysite.knowledge_base(tmp_path / "whole"), tinysite.record(tmp_path)
    trim(site_pages(site), tmp_path / "trimmed", source)
    whole, left = (
        read(site_pages(site), ApplicationAwareHelper(load(folder)).assist) for folder in (source, tmp_path / "trimmed")
    )
    assert [each.iri for each in whole.objects] == [
        f"http://tiny.test/topic/{number}#{identity}"
        for number, posts in tinysite.POSTS.items()
        for identity, *_ in posts
    ]
    assert whole.objects == left.objects


def test_a_site_without_signs_of_the_application_leaves_nothing_of_it(tmp_path: Path) -> None:
    source, site = tinysite.knowledge_base(tmp_path / "whole"), tinysite.record(tmp_path)
    with pytest.raises(TrimmingError, match="nothing is left of Elsewhere"):
        trim(site_pages(site), tmp_path / "trimmed", source, ("Elsewhere",))


@pytest.mark.parametrize(
    ("expression", "sign", "kept", "left"),
    [
        ("//a | //b", "|", {"//b"}, "//b"),
        ("//a[contains(., '|')] | //b", "|", {"//a[contains(., '|')]"}, "//a[contains(., '|')]"),
        ("(//a | //b)[1]", "|", {"(//a | //b)[1]", "(//b)[1]"}, "(//b)[1]"),
        ("//a[b | c]/d", "|", {"//a[b | c]/d", "//a[c]/d"}, "//a[c]/d"),
        (".a, .b .c, [x='1,2']", ",", {".a", "[x='1,2']"}, ".a, [x='1,2']"),
        ("//a | //b", "|", set(), ""),
    ],
)
def test_pruned(expression: str, sign: str, kept: set[str], left: str) -> None:
    asked = {branch.replace("  ", " ") for branch in alternatives(expression, sign)}
    assert kept <= asked
    result = pruned(expression, sign, kept.__contains__)
    assert result.replace("( ", "(").replace(" )", ")").replace("[ ", "[") == left
