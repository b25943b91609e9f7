"""What former versions wrote is read as what this one writes is, and their crawls go on."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from aahcrawler.crawl.directory.crawl_runs import definition
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from online_analysis.icd import Icd, changes
from tests.crawl.crawling import aah, summary, until
from tests.crawl.site import Reply, Site
from tests.crawl.site import serving as serving_site
from tests.service.asking import Service, serving

FOLDERS = Path(__file__).parent
VERSIONS = ("0.2.0",)
MAX_BYTES = 200_000
FRONT = "http://old.test/"
ARTICLE = f"{FRONT}article/1"


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def copied(version: str, name: str, tmp_path: Path) -> Path:
    """Return a crawl's folder as a version left it, to write to."""
    return shutil.copytree(FOLDERS / version / name, tmp_path / name) / "crawl"


@pytest.fixture
def finished(version: str, tmp_path: Path) -> Path:
    return copied(version, "finished", tmp_path)


def article(number: int) -> Reply:
    text = f"<p>The harbour of article {number} was closed when the flood came, and the dike was raised.</p>" * 3
    head = f"<title>Article {number}</title><meta name='author' content='Ann Harbour'>"
    return Reply(f"<html><head>{head}</head><body><article><h1>Article {number}</h1>{text}</article></body>".encode())


@pytest.fixture
def site() -> Iterator[Site]:
    links = "".join(f"<p>The flood: <a href='/article/{number}'>Article {number}</a></p>" for number in range(1, 5))
    pages = {f"/article/{number}": article(number) for number in range(1, 5)}
    with serving_site(Site({"/": Reply(f"<title>Old</title>{links}".encode()), **pages})) as running:
        yield running


def test_they_are_small_and_name_no_machine() -> None:
    files = [path for path in FOLDERS.glob("*/**/*") if path.is_file() and path.suffix not in {".py", ".pyc"}]
    assert sum(path.stat().st_size for path in files) < MAX_BYTES
    assert not [path for path in files if re.search(rb"/(?:tmp|home|work|root)/", path.read_bytes())]


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        (("pages",), f'"url": "{ARTICLE}"'),
        (("pages", "--crawl", "1"), f'"url": "{ARTICLE}"'),
        (("objects",), "Ann Harbour"),
        (("events", "--search", "changed"), "article/2 200 changed"),
        (("report",), ""),
        (("report", "--failed"), ""),
        (("archive", "check"), ""),
        (("archive", "index"), ""),
        (("evaluate",), ""),
        (("frontier", "counts"), "done"),
        (("reread",), ""),
        (("query", "--ready", "edited-posts"), ""),
    ],
)
def test_commands_read_them(finished: Path, command: tuple[str, ...], wanted: str) -> None:
    words = 2 if command[0] in {"archive", "frontier"} else 1
    ended = aah(*command[:words], finished, *command[words:])
    assert ended.code == 0, ended.err + ended.out
    assert wanted in ended.out + ended.err


def test_scores_are_explained(finished: Path) -> None:
    ended = aah("explain-score", finished, ARTICLE)
    assert ended.code == 0, ended.err
    assert ARTICLE in ended.out


def test_the_service_shows_them(finished: Path) -> None:
    with serving(ServiceSettings(Catalog([finished.parent]))) as service:
        status = service.get("/v1/crawls/old").json
        told = summary(finished)
        assert status["state"] == "finished"
        assert (status["fetched"], status["requests"]) == (told["pages"], told["answers"])
        assert (status["objects"], status["objects_on_pages"]) == (None, told["objects"])
        assert status["failures"] == sum(number for code, number in told["status"].items() if code >= "400")
        listed = indexed(service, "/v1/crawls/old/pages")
        assert ARTICLE in {page["url"] for page in listed["pages"]}
        assert indexed(service, "/v1/crawls/old/objects")["objects"]
        assert service.get("/v1/crawls/old/refused").status in {200, 404}


def indexed(service: Service, path: str) -> dict[str, list[dict[str, object]]]:
    until(lambda: service.get(path).status == 200 and service.get(path).json["progress"]["complete"])
    found: dict[str, list[dict[str, object]]] = service.get(path).json
    return found


@pytest.mark.parametrize("name", ["finished", "stopped"])
def test_the_same_definition_goes_on_without_a_word(version: str, name: str) -> None:
    meant = definition(FOLDERS / version / name / "crawl")
    assert meant is not None
    assert changes(meant, Icd.load(FOLDERS / version / name / "icd.yaml")) == ()


def define(folder: Path, site: Site) -> Path:
    """Have the definition beside a crawl's folder lead to a site of this machine."""
    path = folder.parent / "icd.yaml"
    text = re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{site.port}", path.read_text("utf-8"))
    path.write_text(text.replace("output: crawl", f"output: {json.dumps(str(folder))}"), "utf-8")
    return path


def test_a_crawl_that_was_interrupted_goes_on(version: str, tmp_path: Path, site: Site) -> None:
    folder = copied(version, "stopped", tmp_path)
    before = summary(folder)
    ended = aah("crawl", define(folder, site), "--accept-changes")
    assert ended.code == 0, ended.err
    told = summary(folder)
    assert (told["state"], told["crawl"]) == ("finished", before["crawl"])
    assert site.paths() == ["/article/4"], "what was fetched before is not fetched again"
    assert told["pages"] == before["pages"] + 1 == 5
    listed = aah("pages", folder).out
    assert all(f'"url": "{FRONT}article/{number}"' in listed for number in range(1, 5))
    assert told["objects"] == len(aah("objects", folder).out.splitlines())


def test_a_crawl_is_begun_anew_that_knows_the_former_ones(finished: Path, site: Site) -> None:
    ended = aah("crawl", define(finished, site), "--accept-changes")
    assert ended.code == 0, ended.err
    told = summary(finished)
    assert told["crawl"] == 3
    assert told["changed"] >= 3
    assert (finished / "former" / "2" / "crawl.json").exists()
    assert aah("archive", "check", finished).code == 0


def test_pages_are_taken_down(finished: Path) -> None:
    ended = aah("remove", finished, "--url", ARTICLE, "--reason", "asked for")
    assert ended.code == 0, ended.err
    assert f'"url": "{ARTICLE}"' not in aah("pages", finished).out
    assert aah("archive", "check", finished).code == 0
