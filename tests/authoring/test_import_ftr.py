"""Site configs become applications, and what cannot be taken over is said with its reason."""

import io
import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.editor.fivefilters import ConfigFile, ConfigsError, convert, host_of, write
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Headers, Page
from benchmarks import recorded
from knowledge_base.file_selection import SHIPPED
from knowledge_base.loader import load

GAZETTE = """\
# The valley's paper
title: //h1[@class='head']
author: //p[@class='by']/a
date: //time/@datetime
body: //div[@id='story']
body: //div[@class='old-story']
strip: //aside
strip_id_or_class: share
strip_image_src: /pixel/
next_page_link: //a[@rel='next']
prune: no
http_header(user-agent): Mozilla/5.0
replace_string(<nobr>): <span>
test_url: https://gazette.example/2024/bridge
"""

STORY = b"""<!DOCTYPE html><html><head><title>Bridge reopens - Gazette</title></head><body>
<nav><a href="/politics">Politics</a></nav>
<h1 class="head">Bridge reopens</h1><p class="by">By <a href="/people/ann">Ann Weir</a></p>
<time datetime="2024-05-02T08:00:00Z">2 May</time>
<div id="story"><p>The bridge over the mill race is open again.</p><aside>Subscribe now</aside>
<p class="share-bar">Share this</p><p>Lorries have to wait until June.</p></div>
<a rel="next" href="/2024/bridge/2">Next page</a></body></html>"""


def folder_with(tmp_path: Path, **files: str) -> Path:
    folder = tmp_path / "configs"
    folder.mkdir()
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return folder


def story(url: str) -> Page:
    return Page(url, 200, Headers((("Content-Type", "text/html"),)), STORY, datetime(2026, 11, 21, tzinfo=UTC))


@pytest.mark.slow
def test_an_article_is_extracted_as_the_config_says(tmp_path: Path) -> None:
    write(convert(folder_with(tmp_path, gazette__example__txt=GAZETTE)), tmp_path / "pack")
    helper = ApplicationAwareHelper(load(SHIPPED, tmp_path / "pack"))
    assistance = helper.assist(story("https://www.gazette.example/2024/bridge"))
    assert assistance.match is not None
    assert (assistance.match.application.name, assistance.failed_actions) == ("gazette.example", ())
    (article,) = assistance.objects
    assert article.first("title") == "Bridge reopens"
    assert article.first("date") == datetime(2024, 5, 2, 8, tzinfo=UTC)
    assert article.first("body") == "The bridge over the mill race is open again.\nLorries have to wait until June."
    assert {link.url: link.action for link in assistance.document.outlinks} == {
        "https://www.gazette.example/2024/bridge/2": "next-page",
        "https://www.gazette.example/politics": "links",
        "https://www.gazette.example/people/ann": "links",
    }


def test_the_front_page_and_other_hosts_are_no_articles(tmp_path: Path) -> None:
    write(convert(folder_with(tmp_path, gazette__example__txt=GAZETTE)), tmp_path / "pack")
    helper = ApplicationAwareHelper(load(SHIPPED, tmp_path / "pack"))
    for url in ("https://gazette.example/", "https://other.example/2024/bridge"):
        match = helper.assist(story(url)).match
        assert match is None or match.level is None


def test_what_is_left_out_is_listed_with_its_line(tmp_path: Path) -> None:
    folder = folder_with(
        tmp_path,
        gazette__example__txt=GAZETTE,
        none__example__txt="tidy: no\ntest_url: http://none.example/1\n",
        broken__example__txt="body: //div[\nbody: //p[matches(., 'x')]\nbody: //p[re:test(., 'x')]\n",
        global__txt="body: //article\n",
    )
    pack = convert(folder)
    left = {(item.file, item.line, item.directive): item.reason for item in pack.left_out}
    assert left[("gazette.example.txt", 12, "http_header")].startswith("the crawler identifies itself truthfully")
    assert "not replaced" in left[("gazette.example.txt", 13, "replace_string")]
    assert "names no body" in left[("none.example.txt", 0, "")]
    assert [line for file, line, _ in sorted(left) if file == "broken.example.txt"] == [0, 1, 2, 3]
    assert "its name is no host" in left[("global.txt", 0, "")]
    assert pack.summary() == "4 files: 0 converted wholly, 1 in part, 3 not"


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("example.org.txt", "example.org"),
        ("www.example.org.txt", "example.org"),
        (".example.org.txt", "*.example.org"),
        ("global.txt", None),
        ("LICENSE.txt", None),
        ("exa mple.org.txt", None),
    ],
)
def test_a_file_is_named_after_its_host(name: str, host: str | None) -> None:
    assert host_of(ConfigFile(name, "")) == host


def test_one_host_is_converted_once(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, a__example__txt="body: //p", www__a__example__txt="body: //div")
    pack = convert(folder)
    assert [conversion.file for conversion in pack.applications] == ["a.example.txt"]
    assert [item.reason for item in pack.left_out] == ["a.example.txt is for the same host"]


def test_an_archive_is_read_and_never_unpacked(tmp_path: Path) -> None:
    archive = tmp_path / "configs.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        for name in ("../../up.example.txt", "/etc/root.example.txt", "in/plain.example.txt", "in/readme.md"):
            member = tarfile.TarInfo(name)
            member.size = len(b"body: //p")
            tar.addfile(member, io.BytesIO(b"body: //p"))
        link = tarfile.TarInfo("in/link.example.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    write(convert(archive), tmp_path / "pack")
    written = sorted(file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*.xml"))
    assert written == [f"pack/applications/{name}.example.xml" for name in ("plain", "root", "up")]


@pytest.mark.slow
def test_quotes_of_both_sorts_and_control_characters_do_no_harm(tmp_path: Path) -> None:
    text = "body: //p\nstrip_id_or_class: it's \"so\nstrip: //a[.='\x01']\n"
    pack = convert(folder_with(tmp_path, a__example__txt=text))
    write(pack, tmp_path / "pack")
    assert [(item.line, item.directive) for item in pack.left_out] == [(3, "strip")]


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "notes.tar.xz"
    file.write_bytes(b"no archive")
    with pytest.raises(ConfigsError, match=r"notes\.tar\.xz: this is neither a folder nor a tar archive"):
        convert(file)
    ended = CliRunner().invoke(app, ["kb", "import-ftr", str(file), "--to", str(tmp_path / "pack")])
    assert ended.exit_code == 2


def test_the_command_reports(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, gazette__example__txt=GAZETTE)
    report = tmp_path / "left-out.json"
    ended = CliRunner().invoke(
        app, ["kb", "import-ftr", str(folder), "--to", str(tmp_path / "pack"), "--report", str(report)]
    )
    assert ended.exit_code == 0, ended.output
    assert "1 files: 0 converted wholly, 1 in part, 0 not" in ended.output
    assert [row["line"] for row in json.loads(report.read_text(encoding="utf-8"))] == [12, 13]


@pytest.mark.slow
@pytest.mark.soak
def test_all_of_fivefilters_configs_load(tmp_path: Path) -> None:
    archive = recorded.SHARED.parent / "ftr-site-config.tar.xz"
    if not archive.is_file():
        if recorded.required():
            pytest.fail(f"there is no {archive}")
        pytest.skip(f"there is no {archive}")
    pack = convert(archive)
    write(pack, tmp_path / "pack")
    converted = len(pack.applications)
    assert converted > 0.85 * len(pack.conversions)
    assert len(load(SHIPPED, tmp_path / "pack").applications) == converted + len(load().applications)
