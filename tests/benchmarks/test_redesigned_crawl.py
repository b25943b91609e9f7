import gzip
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from aahcrawler.adaptation.learned import LearnedAction
from aahcrawler.layout import OBJECTS
from aahcrawler.objects.capture_statements import PageRow
from aahcrawler.objects.reader import object_rows, page_rows
from aahcrawler.objects.writer import Method as ReadingMethod
from aahcrawler.objects.writer import ObjectWriter, Reading
from aahcrawler.wrapper_induction.examples import Method
from aahcrawler.wrapper_induction.wrapper import Wrapper
from benchmarks.recorded import RecordedSite
from benchmarks.redesigned_crawl import beside, only, pages_to_repair
from knowledge_base.loader import load
from knowledge_base.model import Extract
from tests.benchmarks import tinysite
from tests.objects.samples import CAPTURE, GRAPH, PAGE, POST, REPLY

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def row(place: int, level: str) -> PageRow:
    return PageRow(
        url=f"http://tiny.test/{place}",
        status=200,
        application="TinyForum",
        level="terminal",
        score=None,
        fetched_at=NOON.isoformat(),
        relevant=None,
        level_name=level,
        media_type=None,
        priority=None,
        depth=None,
        via=None,
        capture=f"urn:uuid:{place}",
    )


def learned(folder: Path, name: str, *places: int) -> LearnedAction:
    level = load(tinysite.knowledge_base(folder)).application("TinyForum").level("topic")
    action = next(each for each in level.actions if isinstance(each, Extract))
    pages = tuple(f"http://tiny.test/{place}" for place in places)
    return LearnedAction(
        site="tiny.test",
        application="TinyForum",
        level="topic",
        action="posts",
        name=name,
        wrapper=Wrapper(action),
        method=Method.MEMORY,
        failure="nothing-found",
        pages=pages,
        before=0,
        after=2,
        confidence=0.9,
        date=NOON,
    )


def test_pages_of_the_level_count_while_it_fails_until_the_first_action_was_learned(tmp_path: Path) -> None:
    rows = [row(0, "board"), row(1, "topic"), row(2, "board"), row(3, "topic"), row(4, "topic"), row(5, "topic")]
    first, second = learned(tmp_path / "a", "one", 1, 3), learned(tmp_path / "b", "two", 4, 5)
    assert pages_to_repair([second, first], rows) == {("topic", "posts"): 2}
    assert pages_to_repair([second], rows) == {("topic", "posts"): 2}


def test_what_another_crawl_learned_does_not_count(tmp_path: Path) -> None:
    assert pages_to_repair([replace(learned(tmp_path, "one"), pages=("http://tiny.test/x",))], [row(1, "topic")]) == {}


def test_only_what_is_said_of_some_captures_is_kept(tmp_path: Path) -> None:
    lines = [f'<http://tiny.test/{n}> <urn:p> "with a blank" <urn:uuid:{n}> .\n' for n in range(3)]
    (tmp_path / "crawl" / "objects").mkdir(parents=True)
    segment = "tiny-20260102120000-00000.nq.gz"
    (tmp_path / "crawl" / "objects" / segment).write_bytes(gzip.compress("".join(lines).encode()))
    kept = only(tmp_path / "crawl", {"urn:uuid:0", "urn:uuid:2"}, tmp_path / "own")
    assert gzip.decompress((kept / "objects" / segment).read_bytes()).decode() == lines[0] + lines[2]


def test_of_a_page_that_was_read_again_the_latest_reading_counts(tmp_path: Path) -> None:
    crawled = tmp_path / "crawl"
    writer = ObjectWriter(crawled / OBJECTS, "tiny", lambda: NOON)
    writer.write(CAPTURE, (REPLY,))
    writer.write(replace(CAPTURE, iri="urn:uuid:other", url="http://forum.test/other"))
    later = Reading(ReadingMethod.REPAIR, NOON, GRAPH)
    writer.write(replace(CAPTURE, reader="ab", reading=later), (POST, REPLY))
    writer.write(replace(CAPTURE, iri="urn:uuid:other", reader="ab", reading=later), (POST,))
    writer.close()
    kept = only(crawled, {GRAPH}, tmp_path / "own")
    assert {row.iri for row in object_rows(kept)} == {POST.iri, REPLY.iri}
    assert [row.url for row in page_rows(kept)] == [PAGE]


def test_two_themes_stand_beside_one_another_with_server_and_scorer(tmp_path: Path) -> None:
    site = tinysite.record(tmp_path / "sites")
    other = RecordedSite("tinyforum", "fancy", tinysite.record(tmp_path / "others").folder)
    (tmp_path / "score.py").write_text("", "utf-8")
    before, after = beside(site, other, tmp_path / "sites", tmp_path / "served")
    assert before.folder.parent == after.folder.parent
    assert {path.name for path in before.folder.parent.iterdir()} == {"before", "after"}
    assert (after.folder / "index.jsonl").is_file()
    assert (tmp_path / "served" / "score.py").is_file()
