"""``docs/scrapy.md`` is what its readers find: its files go into a new project, its commands are run in their order."""

import csv
import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.crawl.articles import article_site
from tests.crawl.crawling import scrapy
from tests.crawl.site import Site, serving

PAGE = (Path(__file__).parents[2] / "docs" / "scrapy.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
URL = "https://forum.example.org/"
OWN = """
import scrapy


class OwnSpider(scrapy.Spider):
    name = "own"
    start_urls = [{url!r}]

    def parse(self, response):
        yield {{"title": response.css("title::text").get()}}
"""


class Reader:
    """Follows the page in a folder of its own."""

    def __init__(self, folder: Path, site: Site) -> None:
        self.folder = folder
        self._site = site
        self.said: dict[str, str] = {}

    def follow(self, kind: str, text: str) -> None:
        match kind:
            case "python":
                self._write(text)
            case "yaml":
                here = {"seeds": [self._site.url], "politeness": {"delay": 0}, "network": {"allow_private": True}}
                (self.folder / "forum.yaml").write_text(yaml.safe_dump(yaml.safe_load(text) | here), "utf-8")
            case "sh":
                for line in text.splitlines():
                    self._do(line)
            case _:
                pytest.fail(f"the page has a block of {kind}")

    def _write(self, text: str) -> None:
        name = text.splitlines()[0].removeprefix("# ")
        with (self.folder / name).open("a" if name.endswith("settings.py") else "w", encoding="utf-8") as file:
            file.write(text)

    def _do(self, line: str) -> None:
        program, *arguments = shlex.split(line)
        if program == "cd":
            self.folder /= arguments[0]
        else:
            assert program == "scrapy"
            self.said[line] = self.scrapy(*(each.replace(URL, self._site.url) for each in arguments))

    def scrapy(self, *arguments: str) -> str:
        done = scrapy(*arguments, cwd=self.folder)
        assert done.code == 0, (arguments, done.err)
        assert "Traceback" not in done.err, (arguments, done.err)
        return done.out


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    with serving(article_site(6)) as site:
        reader = Reader(tmp_path_factory.mktemp("user"), site)
        for kind, text in BLOCKS:
            reader.follow(kind, text)
        (reader.folder / "archive/spiders/own.py").write_text(OWN.format(url=site.url), "utf-8")
        reader.scrapy("crawl", "own", "-O", "own.jsonl")
        return reader


def lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_the_feed_of_the_first_command_has_all_objects(followed: Reader) -> None:
    assert sorted(item["title"] for item in lines(followed.folder / "objects.jsonl")) == [
        f"Flood {number}" for number in range(1, 7)
    ]


def test_the_pipeline_and_the_spider_of_the_page_do_what_they_say(followed: Reader) -> None:
    with (followed.folder / "dated.csv").open(encoding="utf-8", newline="") as file:
        assert {row["date"][:8] for row in csv.DictReader(file)} == {"2019-11-"}
    short = lines(followed.folder / "short.jsonl")
    assert len(short) == 6
    assert all(list(item) == ["url", "title", "status"] for item in short)


def test_settings_shell_and_log_work_as_its_users_expect(followed: Reader) -> None:
    said = {line.split()[1]: out.strip() for line, out in followed.said.items() if line.startswith("scrapy ")}
    assert (said["settings"], said["shell"]) == ("archive", "200")
    assert "Dumping Scrapy stats" in (followed.folder / "scrapy.log").read_text("utf-8")


def test_another_spider_of_the_project_runs_as_ever(followed: Reader) -> None:
    assert lines(followed.folder / "own.jsonl") == [{"title": "Floods"}]
