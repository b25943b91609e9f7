"""The world is what the generator writes, holds together, and speaks the recorded-site format."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest
from lxml import html

from examples import make_world
from examples.make_world import WORLD
from examples.serve import World

HOSTS = sorted(path.parent.name for path in WORLD.glob("*/index.jsonl"))
ELSEWHERE = {"www.phpbb.com", "wordpress.org", "mybb.com"}
"""Hosts that footers name and that the demo's ICD leaves out."""


def rows(host: str, name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (WORLD / host / name).read_text("utf-8").splitlines()]


def pages(host: str) -> Iterator[tuple[str, html.HtmlElement]]:
    for row in rows(host, "index.jsonl"):
        if row["status"] == 200 and "html" in str(row["content_type"]):
            body = (WORLD / host / str(row["file"])).read_text("utf-8")
            yield str(row["url"]), html.document_fromstring(body)


def words(text: str) -> Counter[str]:
    return Counter(text.lower().split())


def overlap(one: Counter[str], other: Counter[str]) -> float:
    return 2 * (one & other).total() / (one.total() + other.total())


def test_the_world_has_its_nine_sites_and_stays_small() -> None:
    assert len(HOSTS) == 9
    assert sum(path.stat().st_size for path in WORLD.rglob("*") if path.is_file()) < 2_000_000


def test_generating_gives_the_committed_bytes() -> None:
    rendered = make_world.render()
    committed = {str(path.relative_to(WORLD)): path for path in WORLD.glob("*/**/*") if path.is_file()}
    assert rendered.keys() == committed.keys()
    assert [name for name, body in rendered.items() if committed[name].read_bytes() != body] == []


def test_writing_replaces_what_was_there(tmp_path: Path) -> None:
    stale = tmp_path / HOSTS[0] / "pages" / "stale.html"
    stale.parent.mkdir(parents=True)
    stale.touch()
    assert make_world.write(tmp_path) == sum(map(len, make_world.render().values()))
    assert not stale.exists()


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS)
def test_every_link_leads_somewhere_or_is_known_to_be_dead(host: str) -> None:
    world = World.read(WORLD)
    dead = {f"http://{host}{path}" for path in json.loads((WORLD / host / "site.json").read_text()).get("dead", ())}
    missed = set()
    met_dead = set()
    for url, tree in pages(host):
        for _, attribute, link, _ in tree.iterlinks():
            target = urldefrag(urljoin(url, link.strip())).url
            split = urlsplit(target)
            if attribute == "action" or split.scheme != "http" or split.hostname in ELSEWHERE:
                continue
            if target in dead:
                met_dead.add(target)
            path = split.path + (f"?{split.query}" if split.query else "")
            if world.answer(split.hostname or "", path).status >= 400:
                missed.add(target)
    # a theme's REST address is announced by WordPress whether anybody reads it or not
    assert missed - {f"http://{host}/wp-json/"} == dead == met_dead


@pytest.mark.parametrize("host", HOSTS)
def test_truth_stands_on_its_page_and_is_counted(host: str) -> None:
    counted = Counter(str(row["url"]) for row in rows(host, "truth.jsonl"))
    claimed = {str(row["url"]): row["objects"] for row in rows(host, "pages.jsonl") if "dup_of" not in row}
    assert counted == {url: number for url, number in claimed.items() if number}
    text = {url: " ".join(tree.text_content().split()) for url, tree in pages(host) if url in counted}
    for row in rows(host, "truth.jsonl"):
        page = text[str(row["url"])]
        for sentence in str(row["body"]).split(". "):
            assert sentence in page
        shown = row["shown"]
        assert isinstance(shown, dict)
        assert all(str(row[name]) in page for name in ("title", "author") if shown[name])


@pytest.mark.parametrize("host", HOSTS)
def test_rows_agree_with_each_other(host: str) -> None:
    index = [str(row["url"]) for row in rows(host, "index.jsonl")]
    level = [str(row["url"]) for row in rows(host, "pages.jsonl")]
    assert index == level
    assert len(set(index)) == len(index)
    assert {str(row["dup_of"]) for row in rows(host, "pages.jsonl") if "dup_of" in row} <= set(index)
    files = {str(row["file"]) for row in rows(host, "index.jsonl") if row["file"]}
    assert files == {f"pages/{path.name}" for path in (WORLD / host / "pages").iterdir()}
    assert {urlsplit(url).netloc for url in index} == {host}


@pytest.mark.slow
def test_no_two_objects_have_nearly_the_same_words() -> None:
    bodies = [words(str(row["body"])) for host in HOSTS for row in rows(host, "truth.jsonl")]
    assert len(bodies) > 200
    assert max(overlap(one, other) for one, other in combinations(bodies, 2)) < 0.85


def test_texts_are_long_enough_to_be_scored() -> None:
    lengths = [
        len(str(row["body"]).split())
        for host in HOSTS
        for row in rows(host, "truth.jsonl")
        if row["kind"] in {"post", "reply", "article"}
    ]
    assert min(lengths) >= 40
    assert sum(lengths) / len(lengths) >= 80


def test_the_boards_and_the_blog_are_structured_as_their_software_documents() -> None:
    by_url = {url: tree for host in HOSTS for url, tree in pages(host)}
    topic = by_url["http://harbourforum.example/viewtopic.php?t=11"]
    assert topic.xpath("//body/@id") == ["phpbb"]
    assert len(topic.xpath("//div[@class='postbody']//div[@class='content']")) == 6
    assert topic.xpath("//li[@class='arrow next']/a/@rel") == ["next"]
    thread = by_url["http://sailboard.test/showthread.php?tid=3"]
    assert len(thread.xpath("//div[@id='posts']/div[starts-with(@id, 'post_')]//div[starts-with(@id, 'pid_')]")) == 5
    assert thread.xpath("//a[@class='pagination_next']/@href") == ["showthread.php?tid=3&page=2"]
    post = by_url["http://tidewatch.example/2019/11/the-morning-after/"]
    assert post.xpath("//meta[@name='generator']/@content")[0].startswith("WordPress")
    assert len(post.xpath("//ol[@class='comment-list']//li[starts-with(@id, 'comment-')]")) == 4
    assert len(post.xpath("//li[starts-with(@id, 'comment-')]//li[starts-with(@id, 'comment-')]")) == 1
    article = by_url["http://varhaven-chronicle.example/article/grey-lock"]
    data = json.loads(article.xpath("string(//script[@type='application/ld+json'])"))
    assert (data["@type"], data["headline"]) == ("Article", "Grey Lock")
