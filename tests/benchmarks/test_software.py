"""The benchmark of real applications: its content, its scorer, its redesigns, and the server that shows them."""

import http.client
import json
import shutil
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from benchmarks import recorded
from benchmarks.software import __main__ as command
from benchmarks.software.content import (
    Block,
    Content,
    Edit,
    Place,
    Post,
    edited,
    lines,
    markdown,
    read_edits,
    read_places,
    write_edits,
    write_places,
)
from benchmarks.software.content import html as as_html
from benchmarks.software.front import Asked, Front, Redesign, Template, asked_of, renamed, with_renamed_fragment
from benchmarks.software.installation import APPLICATIONS, Application, InstallationError
from benchmarks.software.measuring import Case, Plan, planted
from benchmarks.software.scorer import (
    ComparedChanges,
    Described,
    Matching,
    ToldChange,
    TrueObjects,
    page_requests,
    verdict,
)
from benchmarks.software.writing import QUICK, Size, Writer
from benchmarks.truth import Truth, words
from knowledge_base.loader import load
from tests.crawl.crawling import PATIENCE
from tests.recorded_site import recorded_site

PAGE_SIZE = 5
LONG = "The lamp in the hall went out when the wind came up, and nobody had a match to light it again."
OTHER = "Seven boats lay in the harbour that morning; by noon the tide had taken two of them out to sea."
PAGE = b"""<html><head><meta name="generator" content="Forum 3"><link rel="stylesheet" href="/static/a.css?v=2"></head>
<body class="board"><!-- made by Forum --><div id="post-12" class="post even"><a href="/t/1?p=2#post-13">next</a>
<a href="https://elsewhere.example/#post-13">elsewhere</a><p class="said">The lamp in the hall went out.</p></div>
<label for="post-12">x</label></body></html>"""


@pytest.fixture
def content() -> Content:
    return Writer(3).content(PAGE_SIZE, QUICK)


def test_the_same_seed_draws_the_same_content_and_another_one_does_not(content: Content) -> None:
    assert Writer(3).content(PAGE_SIZE, QUICK) == content
    assert Writer(4).content(PAGE_SIZE, QUICK) != content


def test_content_has_threads_of_all_lengths_and_texts_that_repeat(content: Content) -> None:
    lengths = [len(thread.posts) for thread in content.threads]
    texts = [post.plain for _, post in Writer(3).content(PAGE_SIZE, Size()).posts()]

    assert {1, PAGE_SIZE, PAGE_SIZE + 1, 2 * PAGE_SIZE + 1} <= set(lengths)
    assert len(texts) > len(set(texts))
    assert {block.kind for _, post in content.posts() for block in post.blocks} >= {"paragraph", "quote"}


def test_dates_within_a_thread_go_up(content: Content) -> None:
    for thread in content.threads:
        dates = [post.date for post in thread.posts]
        assert dates == sorted(dates)


def test_content_edits_and_places_are_read_as_they_were_written(content: Content, tmp_path: Path) -> None:
    edits = Writer(5).edits(content, PAGE_SIZE)
    places = {"t1-1": Place("/t/1", ("date",))}
    write_places(places, tmp_path / "places.json")

    assert Content.read(content.write(tmp_path / "content.json")) == content
    assert read_edits(write_edits(edits, tmp_path / "edits.json")) == edits
    assert read_places(tmp_path / "places.json") == places


def test_edits_change_each_thread_once_and_delete_no_text_that_is_there_twice(content: Content) -> None:
    edits = Writer(5).edits(content, PAGE_SIZE)
    texts = [post.plain for _, post in content.posts()]
    deleted = [edit.post for edit in edits if edit.kind == "deleted"]

    assert {edit.kind for edit in edits} == {"edited", "deleted", "added"}
    assert len({edit.thread for edit in edits}) == len(edits)
    assert all(texts.count(post.plain) == 1 for post in deleted)
    assert not any(post.id.endswith("-1") for post in deleted)


def test_edited_content_is_what_the_changes_say(content: Content) -> None:
    edits = Writer(5).edits(content, PAGE_SIZE)
    now = {post.id: post for _, post in edited(content, edits).posts()}

    for edit in edits:
        assert now.get(edit.post.id) == (None if edit.kind == "deleted" else edit.post)


def test_planted_changes_have_the_new_text_and_a_deletion_the_last_one(content: Content) -> None:
    thread = next(thread for thread in content.threads if len(thread.posts) > 1)
    new = replace(thread.posts[0], blocks=(Block("paragraph", "New."),))
    gone = thread.posts[1]
    edits = [Edit("edited", thread.id, new), Edit("deleted", thread.id, replace(gone, blocks=()))]

    assert planted(content, edits) == [ToldChange("edited", "New."), ToldChange("deleted", gone.plain)]


@pytest.mark.parametrize("write", [as_html, markdown, lines])
def test_every_markup_has_all_words_of_a_post(write: object) -> None:
    blocks = (
        Block("quote", "Who was it?", "Ada <a>"),
        Block("items", "one\ntwo"),
        Block("code", "ls"),
        Block("file", "a.txt"),
    )
    post = Post("t1-1", "Ada", "2024-01-01T00:00+00:00", blocks)
    written = write(post)  # type: ignore[operator]
    shown = html.fromstring(f"<div>{written}</div>").text_content() if write is as_html else written

    assert all(word in shown for word in ("Who was it?", "wrote:", "one", "two", "ls", "a.txt"))


def true(*objects: Described) -> TrueObjects:
    return TrueObjects(objects)


def test_an_object_is_found_by_its_text_and_a_second_one_is_false() -> None:
    site = true(Described("1", "/t", LONG), Described("2", "/t", OTHER))
    matching = Matching.of(site, [Described("a", "/t", LONG + " Really."), Described("b", "/copy", LONG)])

    assert matching.scores()["recall"] == 0.5
    assert matching.shares() == {"precision": 0.5, "duplicate_share": 0.5}
    assert [each.id for each in matching.missing] == ["2"]


def test_of_several_texts_that_count_the_nearest_does() -> None:
    mail = Described("1", "/m1", "> Is the dike safe?\nIt is, says the keeper.", others=("It is, says the keeper.",))
    assert mail.agrees(Described("", "/m1", "It is, says the keeper.")) == 1.0
    assert mail.agrees(Described("", "/m1", mail.body)) == 1.0
    assert mail.agrees(Described("", "/m1", "Is the dike safe?")) < 1.0


def test_equal_texts_are_matched_with_those_of_their_page_and_author() -> None:
    thanks = "Thanks, that helped!"
    site = true(Described("1", "/t/1", thanks, author="Ada"), Described("2", "/t/2", thanks, author="Ben"))
    extracted = [Described("x", "http://h/t/2", thanks, author="Ben"), Described("y", "/t/1", thanks, author="Ada")]
    scores = Matching.of(site, extracted).scores()

    assert (scores["recall"], scores["author"], scores["author_wrong"]) == (1, 1, 0)


def test_a_wrong_value_is_counted_apart_from_an_absent_one() -> None:
    site = true(
        Described("1", "/t", LONG, "A title", "Ada", "2024-01-02T10:00+00:00"),
        Described("2", "/t", OTHER, None, "Ben", "2024-01-03T10:00+00:00"),
    )
    extracted = [
        Described("a", "/t", LONG, "a  TITLE", None, "2023-01-02"),
        Described("b", "/t", OTHER, "Re: A title", "Ada", "2024-01-03"),
    ]
    scores = Matching.of(site, extracted).scores()

    assert (scores["title"], scores["title_wrong"]) == (1, 0)
    assert (scores["author"], scores["author_wrong"]) == (0, 0.5)
    assert (scores["date"], scores["date_wrong"]) == (0.5, 0.5)


def test_a_hidden_value_need_not_be_found_but_must_be_true() -> None:
    hidden = Described("1", "/t", LONG, date="2024-01-02T10:00+00:00", hidden=("date",))
    silent = Matching.of(true(hidden), [Described("a", "/t", LONG)])
    guessed = Matching.of(true(hidden), [Described("a", "/t", LONG, date="2024-02-11T08:13:59+00:00")])

    assert (silent.scores()["date"], silent.scores()["date_wrong"], silent.differing) == (None, 0, [])
    assert (guessed.scores()["date"], guessed.scores()["date_wrong"]) == (None, 1)
    assert guessed.differing


def test_false_objects_are_on_pages_that_hold_none_and_copy_none() -> None:
    site = true(Described("1", "/t", LONG))
    extracted = [
        Described("a", "http://h/t", LONG),
        Described("b", "/copy", LONG),
        Described("c", "/copy", OTHER),
        Described("d", "/list", OTHER),
        Described("e", "/t", "Something else that nobody ever wrote."),
    ]

    assert Matching.of(site, extracted).false_objects(["/t", "/copy", "/list", "/about", "/x"]) == 0.3333


@pytest.mark.parametrize(
    ("name", "said", "extracted", "expected"),
    [
        ("date", "2024-02-01T23:30+00:00", "2024-02-02T00:30:00+01:00", "right"),
        ("date", "2024-02-01T23:30+00:00", "2024-02", "wrong"),
        ("date", "2024-02-01T23:30+00:00", "", "absent"),
        ("author", "Ada  Lovelace", "ada lovelace", "right"),
        ("author", "Ada", "Ben", "wrong"),
    ],
)
def test_a_value_is_right_wrong_or_absent(name: str, said: str, extracted: str, expected: str) -> None:
    assert verdict(name, said, extracted) == expected


def test_changes_agree_in_kind_and_text_and_are_told_once() -> None:
    made = [ToldChange("edited", LONG), ToldChange("deleted", OTHER)]
    told = [ToldChange("edited", LONG), ToldChange("edited", LONG), ToldChange("added", OTHER)]
    compared = ComparedChanges.of(made, told)

    assert compared.false == [ToldChange("edited", LONG), ToldChange("added", OTHER)]
    assert compared.missed == [ToldChange("deleted", OTHER)]


def test_style_sheets_and_robots_txt_are_no_pages() -> None:
    assert page_requests(["/", "/t?page=2", "/static/a.css?v=2", "/robots.txt", "/feed.xml"]) == 3


def template(redesign: Redesign, seed: int = 1) -> Template:
    return Template(redesign, Truth(["The lamp in the hall went out."]), seed)


def shown(redesign: Redesign, seed: int = 1) -> html.HtmlElement:
    return html.document_fromstring(template(redesign, seed).page("http://127.0.0.1:80/t/1", "text/html", PAGE))


def text(tree: html.HtmlElement) -> list[str]:
    found = tree.xpath("//body//text()")
    assert isinstance(found, list)
    return sorted(words("\n".join(map(str, found))))


def test_renamed_ids_are_the_same_on_all_pages_and_in_addresses_of_the_site() -> None:
    tree = shown(Redesign.IDS)
    new = renamed("post-12")

    assert new not in {"post-12", "post-13"}
    assert new.endswith("-12")
    assert [element.get("id") for element in tree.xpath("//*[@id]")] == [new]
    assert tree.xpath("//label/@for") == [new]
    assert tree.xpath("//a/@href") == [f"/t/1?p=2#{renamed('post-13')}", "https://elsewhere.example/#post-13"]
    assert tree.xpath("//div/@class") == ["post even"]
    assert template(Redesign.IDS).location("/t/1#post-13") == f"/t/1#{renamed('post-13')}"


def test_renamed_classes_leave_ids_alone() -> None:
    tree = shown(Redesign.CLASSES)

    assert tree.xpath("//div/@id") == ["post-12"]
    assert not {"post", "even", "board", "said"} & {name for said in tree.xpath("//@class") for name in said.split()}
    assert template(Redesign.CLASSES).location("/t/1#post-13") == "/t/1#post-13"


def test_renamed_assets_are_led_back_to_what_the_software_knows() -> None:
    changed = template(Redesign.ASSETS)
    tree = html.document_fromstring(changed.page("http://127.0.0.1:80/t/1", "text/html", PAGE))
    address = tree.xpath("//link/@href")[0]

    assert "static" not in address
    assert address.endswith(".css")
    assert changed.former(address) == "/static/a.css?v=2"
    assert changed.former("/t/1") == "/t/1"


@pytest.mark.parametrize("redesign", list(Redesign))
def test_a_redesign_changes_pages_and_loses_no_words(redesign: Redesign) -> None:
    before = html.document_fromstring(PAGE)
    trees = [shown(redesign, seed) for seed in range(6)]

    assert all(text(tree) == text(before) for tree in trees)
    assert any(html.tostring(tree) != html.tostring(before) for tree in trees)


def test_no_redesign_puts_content_into_an_aside_or_makes_an_id_twice() -> None:
    posts = "".join(f'<div class="post" id="p{number}"><p>{LONG}</p></div>' for number in range(3))
    page = f'<html><body><div class="all">{posts}</div><aside class="menu">{OTHER}</aside></body></html>'
    for seed in range(12):
        changed = Template(Redesign.TOTAL, Truth([LONG, OTHER]), seed)
        tree = html.document_fromstring(changed.page("http://127.0.0.1:80/", "text/html", page.encode()))
        ids = tree.xpath("//@id")

        assert len(ids) == len(set(ids))
        assert not tree.xpath(f"//aside[contains(., '{LONG}')]")


def test_nothing_in_the_head_names_the_software_after_a_total_redesign() -> None:
    tree = shown(Redesign.TOTAL)

    assert not tree.xpath("//meta[@name='generator'] | //comment()")


def test_an_address_without_a_fragment_stays_as_it_is() -> None:
    assert with_renamed_fragment("/t/1#", renamed) == "/t/1#"
    assert with_renamed_fragment("/t/1", renamed) == "/t/1"


class Software(BaseHTTPRequestHandler):
    """An application of two pages, one of which redirects to the other."""

    def do_GET(self) -> None:
        redirects = self.path == "/old"
        self.send_response(302 if redirects else 304 if self.headers.get("If-None-Match") else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("ETag", '"1"')
        if redirects:
            self.send_header("Location", "/t/1#post-12")
        self.end_headers()
        if not redirects and not self.headers.get("If-None-Match"):
            self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    software = ThreadingHTTPServer(("127.0.0.1", 0), Software)
    thread = threading.Thread(target=software.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    with Front(software.server_address[1], tmp_path / "requests.jsonl").running() as running:
        yield running
    software.shutdown()
    software.server_close()
    thread.join()


def asked(front: Front, path: str, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", front.port, timeout=PATIENCE)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response, body


def test_the_front_passes_on_what_the_software_says_and_logs_it(front: Front) -> None:
    response, body = asked(front, "/t/1")
    unchanged, _ = asked(front, "/t/1", **{"If-None-Match": '"1"'})

    assert (response.status, response.getheader("ETag"), body, unchanged.status) == (200, '"1"', PAGE, 304)
    assert asked_of(front.log) == [Asked("GET", "/t/1", 200), Asked("GET", "/t/1", 304)]


def test_the_front_shows_another_template_without_validators(front: Front) -> None:
    front.template = template(Redesign.IDS)
    response, body = asked(front, "/t/1", **{"If-None-Match": '"1"'})
    redirect, _ = asked(front, "/old")

    assert (response.status, response.getheader("ETag")) == (200, None)
    assert renamed("post-12").encode() in body
    assert redirect.getheader("Location") == f"/t/1#{renamed('post-12')}"


def test_an_application_that_cannot_be_installed_has_a_row_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Application) -> Path:
        raise InstallationError("no index can be reached")

    monkeypatch.setattr(Application, "install", fail)
    plan = Plan(frozenset(Case), (Redesign.TOTAL,), QUICK, 1)
    rows = list(command.rows([APPLICATIONS[0]], plan))

    assert [(row["app"], row["failure"]) for row in rows] == [("spirit", "no index can be reached")]
    assert set(rows[0]) >= {"recall", "title_wrong", "false_changes", "missed_changes"}


def test_every_application_pins_what_it_needs() -> None:
    folder = Path(command.__file__).parent
    for application in APPLICATIONS:
        file = folder / "requirements" / f"{application.name}.txt"
        pins = [*(file.read_text("utf-8").split() if file.is_file() else ()), *application.node]

        assert pins
        assert all(pin.rpartition("==")[0] or pin.rpartition("@")[0] for pin in pins)
        assert (folder / "sites" / f"{application.name}.py").is_file()


def test_both_scorers_mean_the_same_by_recall_and_fields(tmp_path: Path) -> None:
    whole, some = recorded_site("phpbb/prosilver"), tmp_path / "site"
    shutil.copytree(whole.folder, some, ignore=shutil.ignore_patterns("pages"))
    lines = (whole.folder / "truth.jsonl").read_text("utf-8").splitlines()[::16]
    (some / "truth.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    rows = [json.loads(line) for line in lines]
    extracted = [{**row, "type": "Post"} for number, row in enumerate(rows) if number % 7]
    for number, row in enumerate(extracted):
        row.update({"date": "1999-01-01"} if number % 5 == 0 else {})
        row.update({"title": None} if number % 3 == 0 else {})
        row.update({"body": row["body"] + " one two three four five six" * 40} if number % 11 == 0 else {})
    (tmp_path / "objects.jsonl").write_text("".join(json.dumps(row) + "\n" for row in extracted), "utf-8")
    theirs = recorded.score(replace(whole, folder=some), tmp_path / "objects.jsonl")
    ours = Matching.of(TrueObjects(map(_of_truth, rows)), map(_of_object, extracted)).scores()

    assert {name: ours[name] for name in ("recall", "title", "author", "date")} == {
        name: theirs[name] for name in ("recall", "title", "author", "date")
    }


def _of_truth(row: Mapping[str, Any]) -> Described:
    hidden = tuple(name for name in ("title", "author", "date") if not row["shown"].get(name))
    return replace(_of_object(row), hidden=hidden)


def _of_object(row: Mapping[str, Any]) -> Described:
    return Described(row["id"], row["url"], row["body"], row["title"], row["author"], row["date"])


def test_no_file_of_the_knowledge_base_describes_an_application() -> None:
    described = {application.name.casefold() for application in load().applications}

    assert described
    assert not described & {application.name for application in APPLICATIONS}
