"""Choosing pages of a crawl, and the WARC file that is made of them."""

import gzip
import hashlib
import io
import json
import re
import shutil
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result
from warcio.archiveiterator import ArchiveIterator as Warcio

from aahcrawler.archive.checking import Tally, check
from aahcrawler.archive.index import IndexWriter
from aahcrawler.archive.records import CrawlInfo, Original
from aahcrawler.archive.writer import Identity, WarcWriter
from aahcrawler.captures import ArchivedCaptures
from aahcrawler.cli import app
from aahcrawler.exchange import Exchange
from aahcrawler.objects.writer import CaptureDescription, ObjectWriter
from aahcrawler.webobject import WebObject
from offline.selection.criteria import Criteria, CriteriaError, Threshold, moment
from offline.selection.warc_selection import SelectedCaptures, select

BEGUN = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
SITE = "http://site.test"
HTML, CSS = "text/html", "text/css"
THREAD = b"<link rel=stylesheet href=/s.css><img src=/photo.jpg><p>A thread."


class World:
    """A crawl written by hand: each answer a minute after the one before it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ids = iter(f"urn:uuid:00000000-0000-4000-8000-{number:012d}" for number in range(1000))
        identity = Identity(lambda: next(self._ids), lambda: BEGUN)
        self._archive = WarcWriter(folder / "archive", CrawlInfo("world", "a test"), identity=identity, size=2000)
        self._objects = ObjectWriter(folder / "objects", "world", lambda: BEGUN)
        self._count = 0

    def answer(
        self, path: str, body: bytes, media_type: str = HTML, *, status: int = 200, more: str = ""
    ) -> tuple[str, datetime]:
        """Archive an answer; return the capture's id and its date."""
        head = f"HTTP/1.1 {status} X\r\nContent-Type: {media_type}\r\n{more}Content-Length: {len(body)}\r\n\r\n"
        response = head.encode() + body
        self._count += 1
        date = BEGUN.replace(minute=self._count)
        request = f"GET {path} HTTP/1.1\r\n\r\n".encode()
        stream = io.BytesIO(response)
        exchange = Exchange(SITE + path, "GET", request, stream, len(response), _sha1(body), "", date)
        with closing(exchange):
            return self._archive.write(exchange).record_id, date

    def page(self, path: str, body: bytes, **said: object) -> str:
        """Archive a page and describe it."""
        status = int(str(said.pop("status", 200)))
        more, published = str(said.pop("more", "")), said.pop("published", None)
        capture, date = self.answer(path, body, status=status, more=more)
        url = SITE + path
        described = CaptureDescription(capture, url, status, date, HTML, **said)  # type: ignore[arg-type]
        dated = {"date": (published,)} if isinstance(published, datetime) else {}
        self._objects.write(described, [WebObject(f"{url}#p1", "post", url, dated, url)] if status == 200 else ())
        return capture

    def close(self) -> None:
        self._archive.close()
        self._objects.close()


def _sha1(body: bytes) -> bytes:
    return hashlib.sha1(body, usedforsecurity=False).digest()


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("selection") / "world"
    with closing(World(folder)) as world:
        world.answer("/robots.txt", b"User-agent: *\n", "text/plain")
        world.page("/", b"<a href=/old>", score=0.1, application="phpBB", level="board", role="intermediate")
        world.page("/old", b"", status=301, more="Location: /older\r\n")
        world.page("/older", b"", status=302, more="Location: /thread\r\n")
        published = datetime(2020, 5, 1, 12, tzinfo=UTC)
        world.page(
            "/thread", THREAD, score=0.8, application="phpBB", level="thread", role="terminal", published=published
        )
        world.answer("/s.css", b"@import url(/more.css);", CSS)
        world.answer("/more.css", b"p { background: url(/back.png) }", CSS)
        world.answer("/back.png", b"\x89PNG", "image/png")
        world.answer("/photo.jpg", b"\xff\xd8\xff", "image/jpeg")
        world.answer("/other.png", b"\x89PNG2", "image/png")
        world.page("/blog", b"<link rel=stylesheet href=/s.css><p>A blog.", score=0.5, application="WordPress")
        world.page("/gone", b"Gone", status=404)
    return folder


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in ("select", *arguments)])


def records(file: Path) -> dict[str, tuple[str, str, str, bytes]]:
    """Return type, address, date and block of each record by its id, as warcio reads them."""
    found: dict[str, tuple[str, str, str, bytes]] = {}
    with file.open("rb") as stream:
        for record in Warcio(stream, no_record_parse=True):
            name = record.rec_headers["WARC-Record-ID"]
            assert name not in found, "nothing is written twice"
            kind, url = record.rec_type, record.rec_headers.get_header("WARC-Target-URI", "")
            found[name] = (kind, url, record.rec_headers["WARC-Date"], record.content_stream().read())
    return found


def source(crawl: Path) -> dict[str, tuple[str, str, str, bytes]]:
    return {name: record for file in (crawl / "archive").iterdir() for name, record in records(file).items()}


def paths(file: Path, kind: str = "response") -> list[str]:
    return [url.removeprefix(SITE) for found, url, _, _ in records(file).values() if found == kind]


def listed(*arguments: str | Path) -> list[str]:
    result = run(*arguments, "--dry-run")
    assert result.exit_code == 0, result.output
    return [line.split("\t")[2].removeprefix(SITE) for line in result.output.splitlines()]


def test_a_page_comes_with_its_request_redirects_robots_and_requisites(crawl: Path, tmp_path: Path) -> None:
    file = tmp_path / "final.warc.gz"
    result = run(crawl, "--to", file, "--score", ">=0.8")
    assert result.exit_code == 0, result.output
    assert "1 pages, 7 more responses" in result.output
    wanted = ["/robots.txt", "/old", "/older", "/thread", "/s.css", "/more.css", "/back.png", "/photo.jpg"]
    assert paths(file) == wanted == paths(file, "request")


def test_records_are_what_they_were_and_the_file_is_sound(crawl: Path, tmp_path: Path) -> None:
    file = tmp_path / "final.warc.gz"
    assert run(crawl, "--to", file, "--application", "phpbb").exit_code == 0
    first, *rest = records(file).items()
    assert first[1][0] == "warcinfo"
    assert b"isPartOf: world" in first[1][3]
    assert b"application phpbb" in first[1][3]
    assert dict(rest).items() <= source(crawl).items()
    with file.open("rb") as stream:
        named = {record.rec_headers.get_header("WARC-Warcinfo-ID") for record in Warcio(stream)} - {None}
    assert named < set(records(file)), "what a record refers to is there"
    assert check_with_warcio(file) == []


def check_with_warcio(file: Path) -> list[str]:
    wrong = []
    with file.open("rb") as stream:
        for record in Warcio(stream, check_digests=True):
            record.content_stream().read()
            if record.digest_checker.passed is False:
                wrong.append(record.rec_headers["WARC-Record-ID"])
    return wrong


def test_captures_are_read_back(crawl: Path, tmp_path: Path) -> None:
    assert run(crawl, "--to", tmp_path / "final.warc.gz", "--level", "terminal", "--no-requisites").exit_code == 0
    with ArchivedCaptures(tmp_path) as source:
        read = [each.target_uri.removeprefix(SITE) for each in source.captures()]
    assert read == ["/robots.txt", "/old", "/older", "/thread"]


def test_the_index_beside_it_finds_every_response(crawl: Path, tmp_path: Path) -> None:
    file = tmp_path / "final.warc.gz"
    assert run(crawl, "--to", file, "--score", ">=0.5").exit_code == 0
    lines = (tmp_path / "final.warc.gz.cdxj").read_text("ascii").splitlines()
    assert lines == sorted(lines)
    for line in lines:
        told = json.loads(line.split(" ", 2)[2])
        begin, end = int(told["offset"]), int(told["offset"]) + int(told["length"])
        member = gzip.decompress(file.read_bytes()[begin:end]).decode("latin-1")
        assert "WARC-Type: response" in member
        assert f"WARC-Target-URI: {told['url']}\r\n" in member
    assert len(lines) == len(paths(file))


@pytest.mark.slow
@pytest.mark.starts
def test_the_same_selection_is_the_same_file_however_many_processes_make_it(crawl: Path, tmp_path: Path) -> None:
    written: list[bytes] = []
    for processes in (1, 1, 2):
        folder = tmp_path / str(len(written))
        folder.mkdir()
        criteria = Criteria(scores=(Threshold.parse(">0.2"),))
        with ArchivedCaptures(crawl) as source, SelectedCaptures(source) as kept:
            identity = Identity(lambda: "urn:uuid:00000000-0000-4000-8000-00000000aaaa", lambda: BEGUN)
            select(crawl, criteria, kept, folder / "f.warc.gz", identity=identity, processes=processes)
        written.append((folder / "f.warc.gz").read_bytes())
    assert written[0] == written[1] == written[2]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--score", ">0.1"], ["/thread", "/blog"]),
        (["--score", ">=0.1", "--score", "<0.8"], ["/", "/blog"]),
        (["--from", "2026-01-02T03:11:00Z"], ["/blog"]),
        (["--until", "2026-01-02T03:02:00Z"], ["/"]),
        (["--until", "2026-01-02"], ["/", "/thread", "/blog"]),
        (["--from", "2020-05-01", "--until", "2020-05-01", "--date", "published"], ["/thread"]),
        (["--application", "PHPBB", "--application", "wordpress"], ["/", "/thread", "/blog"]),
        (["--application", "phpBB", "--level", "board"], ["/"]),
        (["--sparql", 'SELECT ?page { GRAPH ?page { ?page aah:application "WordPress" } }'], ["/blog"]),
        (["--sparql", "SELECT ?url { GRAPH ?g { ?g schema:url ?url; aah:status 404 } }"], ["/gone"]),
    ],
)
def test_criteria_choose(crawl: Path, arguments: list[str], expected: list[str]) -> None:
    assert listed(crawl, *arguments) == expected


def test_a_listed_redirect_stands_for_the_page_it_leads_to(crawl: Path, tmp_path: Path) -> None:
    urls = tmp_path / "urls.txt"
    urls.write_text(f"# chosen by hand\n\n{SITE}/old\n{SITE}/gone\n", "utf-8")
    assert listed(crawl, "--urls", urls) == ["/thread", "/gone"]


def test_nothing_is_overwritten_and_nothing_empty_is_written(crawl: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.warc.gz"
    there.write_bytes(b"mine")
    refused = run(crawl, "--to", there, "--score", ">=0.1")
    assert (refused.exit_code, there.read_bytes()) == (2, b"mine")
    assert "not overwritten" in refused.output
    empty = run(crawl, "--to", tmp_path / "empty.warc.gz", "--score", ">0.99")
    assert empty.exit_code == 2
    assert "no page fulfils" in empty.output
    assert [path.name for path in tmp_path.iterdir()] == ["there.warc.gz"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to", "x.warc.gz"], "say which pages"),
        (["--score", ">=0.1"], "name the file to write"),
        (["--to", "x.warc", "--score", "0.1"], "ends in .warc.gz"),
        (["--dry-run", "--score", "high"], "--score high"),
        (["--dry-run", "--from", "yesterday"], "--from yesterday"),
        (["--dry-run", "--urls", "/nowhere/urls.txt"], "cannot be read"),
        (["--dry-run", "--sparql", "SELECT"], "not SPARQL"),
        (["--dry-run", "--sparql", "ASK {}"], "SELECT ?page"),
    ],
)
def test_mistakes_are_told(crawl: Path, arguments: list[str], said: str) -> None:
    result = run(crawl, *arguments)
    assert result.exit_code == 2
    assert said in result.output
    assert "Traceback" not in result.output


def test_a_folder_without_a_crawl_is_told(tmp_path: Path) -> None:
    result = run(tmp_path, "--dry-run", "--score", "0.1")
    assert (result.exit_code, "holds no crawl" in result.output) == (2, True)


def test_bounds_of_scores_and_dates() -> None:
    assert not Threshold.parse(">=0").admits(None)
    assert moment("2026-12-31", "--until", end=True) == datetime(2027, 1, 1, tzinfo=UTC)
    assert moment("2026-12", "--until", end=True) == datetime(2027, 1, 1, tzinfo=UTC)
    assert moment("2026", "--until", end=True) == datetime(2027, 1, 1, tzinfo=UTC)
    assert moment("2026", "--from") == moment("2026-01", "--from") == datetime(2026, 1, 1, tzinfo=UTC)
    for text in ("1.2", "=0.3", ">=", "1.2.3"):
        with pytest.raises(CriteriaError, match="0 to 1"):
            Threshold.parse(text)


def kinds_of_all(crawl: Path) -> Counter[str]:
    """Count the records that a selection of all captures copies, by type."""
    with ArchivedCaptures(crawl) as source, SelectedCaptures(source) as selected:
        list(selected.take(source.captures()))
        records = gzip.decompress(b"".join(selected.copies()))
    return Counter(re.findall(r"^WARC-Type: (\w+)\r$", records.decode("latin-1"), re.MULTILINE))


@pytest.mark.parametrize("suffix", ["", ".open"])
def test_a_torn_file_is_read_up_to_its_last_whole_record(crawl: Path, tmp_path: Path, suffix: str) -> None:
    torn = tmp_path / "torn"
    shutil.copytree(crawl, torn)
    last = max((torn / "archive").iterdir())
    whole = last.read_bytes()
    last.unlink()
    last.with_name(last.name + suffix).write_bytes(whole[:-20])
    copied = [kinds_of_all(each) for each in (crawl, torn)]
    assert copied[1]["response"] == copied[0]["response"]
    assert copied[1]["request"] == copied[0]["request"] - 1
    assert run(torn, "--to", tmp_path / "final.warc.gz", "--score", ">=0.1").exit_code == 0
    assert check_with_warcio(tmp_path / "final.warc.gz") == []


def test_a_damaged_archive_is_told_and_leaves_nothing(crawl: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(crawl, damaged)
    first = min((damaged / "archive").iterdir())
    first.write_bytes(first.read_bytes()[:100] + b"\0" * 200 + first.read_bytes()[300:])
    result = run(damaged, "--to", tmp_path / "final.warc.gz", "--score", ">=0.1")
    assert result.exit_code == 2
    assert "is not a readable WARC file" in result.output
    assert not list(tmp_path.glob("final*"))


# What later crawls found unchanged

NOT_MODIFIED = b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n"
SAID = b'{"format":1,"title":"A thread"}'


def recrawled(folder: Path, *, keep_original: bool = True) -> tuple[Path, dict[str, str]]:
    """Write a page with an image, then what two later crawls found; return the crawl and the ids of its captures."""
    ids = (f"urn:uuid:00000000-0000-4000-8000-{number:012d}" for number in range(1000))
    identity = Identity(lambda: next(ids), lambda: BEGUN)
    index = IndexWriter(folder / "archive", folder / "indexes")
    found: dict[str, str] = {}
    with (
        WarcWriter(folder / "archive", CrawlInfo("world", "test"), identity=identity, size=1, index=index) as archive,
        ObjectWriter(folder / "objects", "world", lambda: BEGUN) as objects,
    ):

        def write(name: str, path: str, response: bytes, body: bytes, original: Original | None = None) -> Original:
            date = BEGUN.replace(minute=len(found))
            request = f"GET {path} HTTP/1.1\r\n\r\n".encode()
            stream = io.BytesIO(response)
            exchange = Exchange(SITE + path, "GET", request, stream, len(response), _sha1(body), "", date)
            with closing(exchange):
                capture = archive.write(exchange, original=original, metadata=SAID)
            found[name] = capture.record_id
            if path == "/thread":
                score = 0.1 * len(found)
                status = 304 if response == NOT_MODIFIED else 200
                objects.write(CaptureDescription(capture.record_id, SITE + path, status, date, HTML, score=score))
            return Original(capture.record_id, capture.url, capture.warc_date, _sha1(body))

        page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
        image = b"HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\n\r\n"
        first = write("first", "/thread", page + THREAD, THREAD)
        photo = write("photo", "/photo.jpg", image + b"\xff\xd8\xff", b"\xff\xd8\xff")
        write("unmodified", "/thread", NOT_MODIFIED, b"", first)
        write("photo again", "/photo.jpg", image + b"\xff\xd8\xff", b"\xff\xd8\xff", photo)
        write("identical", "/thread", page + THREAD, THREAD, first)
    index.close()
    if not keep_original:
        min((folder / "archive").iterdir()).unlink()
    return folder, found


def ids(file: Path, kind: str) -> set[str]:
    return {name.strip("<>") for name, record in records(file).items() if record[0] == kind}


@pytest.mark.parametrize("name", ["unmodified", "identical"])
def test_a_revisit_comes_with_what_it_refers_to_and_with_all_metadata(tmp_path: Path, name: str) -> None:
    crawl, found = recrawled(tmp_path / "crawl")
    file = tmp_path / "final.warc.gz"
    number = list(found).index(name) + 1
    bounds = ("--score", f">={0.1 * number - 0.05}", "--score", f"<{0.1 * number + 0.05}")
    assert run(crawl, "--to", file, *bounds).exit_code == 0
    assert ids(file, "response") == {found["first"], found["photo"]}
    assert ids(file, "revisit") == {found[name], found["photo again"]}
    blocks = [record[3] for record in records(file).values() if record[0] == "metadata"]
    assert blocks.count(SAID) == 4
    assert blocks.count(NOT_MODIFIED) == (name == "unmodified")
    assert len(paths(file, "request")) == 4
    assert list(check(file, Tally())) == []
    assert check_with_warcio(file) == []
    archive = tmp_path / "alone"
    archive.mkdir()
    shutil.copy(file, archive)
    shutil.copy(file.with_name(file.name + ".cdxj"), archive / "index.cdxj")
    assert list(check(archive, Tally())) == []


def test_a_revisit_of_a_capture_that_is_away_is_selected_as_it_is(tmp_path: Path) -> None:
    crawl, found = recrawled(tmp_path / "crawl", keep_original=False)
    file = tmp_path / "final.warc.gz"
    assert run(crawl, "--to", file, "--score", ">=0.5").exit_code == 0
    assert (ids(file, "response"), ids(file, "revisit")) == (set(), {found["identical"]})


def test_the_page_of_a_revisit_is_what_its_original_holds(tmp_path: Path) -> None:
    crawl, found = recrawled(tmp_path / "crawl")
    with ArchivedCaptures(crawl) as known:
        captures = [known.of_record(found[name]) for name in ("first", "unmodified", "identical")]
        pages = [None if each is None else each.page for each in captures]
        assert known.original(found["first"]) is None
        original = known.original(found["unmodified"])
        assert original is not None
        assert original.record_id == found["first"]
    assert [page is not None and (page.url, page.status, page.body) for page in pages] == [
        (f"{SITE}/thread", 200, THREAD)
    ] * 3


def test_originals_that_are_named_by_address_and_date(tmp_path: Path) -> None:
    crawl, found = recrawled(tmp_path / "crawl")
    last = max((crawl / "archive").iterdir())
    last.write_bytes(
        b"".join(
            gzip.compress((b"WARC/1.1\r\n" + part).replace(b"WARC-Refers-To: ", b"X: "))
            for part in gzip.decompress(last.read_bytes()).split(b"WARC/1.1\r\n")[1:]
        )
    )
    with ArchivedCaptures(crawl) as known:
        original = known.original(found["identical"])
    assert original is not None
    assert original.record_id == found["first"]
