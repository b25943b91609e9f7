import json
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest

from online_analysis.icd import ANALYSERS, DEFAULT_WEIGHTS, Endpoint, Icd, IcdError, PostTo, changes
from tests.online_analysis.definitions import SMALLEST, with_lines


def test_the_smallest_definition_has_careful_defaults() -> None:
    icd = with_lines()
    assert (icd.title, icd.operator, icd.output) == ("solar", "", Path("crawls/solar"))
    assert icd.event is None
    assert (icd.scope.sites, icd.scope.depth) == ("seeds", None)
    assert icd.politeness.delay == timedelta(seconds=1)
    assert icd.politeness.connections == 1
    assert icd.politeness.robots == "obey"
    assert icd.network.allow_private == ()
    assert icd.limits.pages == 0
    assert icd.limits.page_bytes == 10_000_000


def test_amounts_are_read_in_human_units() -> None:
    icd = with_lines(
        "event: {start: 2024-05-01, end: 2024-05-31, lead: 30 days, cool_down: 1 week 12 hours}",
        "limits: {pages: 100, bytes: 2 GB, time: 1 h 30 min, requisite_bytes: 500 MiB}",
        "politeness: {delay: 1.5 s, max_delay: 250 ms, timeout: 20}",
    )
    assert icd.event is not None
    assert icd.event.start == datetime(2024, 5, 1, tzinfo=UTC)
    assert icd.event.end == datetime(2024, 5, 31, 23, 59, 59, tzinfo=UTC)
    assert icd.event.lead == timedelta(days=30)
    assert icd.event.cool_down == timedelta(days=7, hours=12)
    assert (icd.limits.pages, icd.limits.bytes, icd.limits.requisite_bytes) == (100, 2 * 10**9, 500 * 2**20)
    assert icd.limits.time == timedelta(minutes=90)
    assert icd.politeness.delay == timedelta(seconds=1.5)
    assert icd.politeness.max_delay == timedelta(milliseconds=250)
    assert icd.politeness.timeout == timedelta(seconds=20)


def test_the_zone_of_a_moment_is_honoured() -> None:
    icd = with_lines("event: {start: '2024-05-01T02:00:00+02:00', end: 2024-05-01T00:00:00Z}")
    assert icd.event is not None
    assert icd.event.start == icd.event.end == datetime(2024, 5, 1, tzinfo=UTC)


def test_the_field_decides_the_type_not_yaml() -> None:
    icd = with_lines("title: 2024", "scope: {languages: [no, EN]}")
    assert icd.title == "2024"
    assert icd.scope.languages == ("no", "en")


def test_a_field_without_value_keeps_its_default() -> None:
    icd = with_lines("title:", "scope:", "  deny: ~", "limits: {pages: null}")
    assert (icd.title, icd.scope.deny, icd.limits.pages) == ("solar", (), 0)


def test_seeds_are_spelt_as_browsers_spell_them() -> None:
    text = SMALLEST.replace("https://forum.example.org/", "'HTTP://Bücher.example:80#top', https://a.test/b;?c")
    assert Icd.parse(text.encode()).seeds == ("http://xn--bcher-kva.example/", "https://a.test/b;?c")


def test_unwritten_weights_keep_their_defaults() -> None:
    weights = with_lines("scoring: {weights: {text: 2, url: 0}}").scoring.weights
    assert weights == {**DEFAULT_WEIGHTS, "text": 2, "url": 0}
    assert tuple(weights) == ANALYSERS


def test_an_analyser_that_may_be_silent_carries_a_crawl_only_where_the_definition_says_so() -> None:
    assert with_lines("scoring: {weights: {text: 0, url: 0, temporal: 1}}").scoring.weights["temporal"] == 1
    with pytest.raises(IcdError, match="all zero"):
        with_lines("scoring: {weights: {text: 0, url: 0, spam: 1}}")


def test_other_analysers_can_be_weighted_when_they_are_known() -> None:
    content = (SMALLEST + "scoring: {weights: {text: 0, url: 0, sentiment: 2}}").encode()
    assert Icd.parse(content, analysers=("text", "url", "spam", "sentiment")).scoring.weights["sentiment"] == 2
    with pytest.raises(IcdError, match="sentiment: is no analyser"):
        Icd.parse(content)


@pytest.mark.parametrize(
    ("written", "address", "port"),
    [
        ("127.0.0.1", "127.0.0.1", None),
        ("127.0.0.1:8080", "127.0.0.1", 8080),
        ("::1", "::1", None),
        ("[::1]:80", "::1", 80),
        ("[0:0::1]", "::1", None),
    ],
)
def test_hosts_are_resolved_to_endpoints(written: str, address: str, port: int | None) -> None:
    icd = with_lines(f"network: {{resolve: {{Forum.Test: '{written}'}}}}")
    assert icd.network.resolve == {"forum.test": Endpoint(address=address, port=port)}


@pytest.mark.parametrize(
    ("written", "networks"),
    [
        ("true", ("0.0.0.0/0", "::/0")),
        ("no", ()),
        ("[127.0.0.0/8, 'fd00::1']", ("127.0.0.0/8", "fd00::1/128")),
        ("[192.168.1.7/24]", ("192.168.1.0/24",)),
    ],
)
def test_private_networks_are_allowed_by_a_switch_or_a_list(written: str, networks: tuple[str, ...]) -> None:
    assert with_lines(f"network: {{allow_private: {written}}}").network.allow_private == tuple(
        map(ip_network, networks)
    )


def test_spam_hosts_come_from_a_list_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("# bad ones\nAds.Example.net\n\n0.0.0.0 farm.test # hosts file\n")
    (tmp_path / "solar.yaml").write_text(SMALLEST + "scoring: {spam_hosts: hosts.txt}")
    assert Icd.load(tmp_path / "solar.yaml").scoring.spam_hosts == ("ads.example.net", "farm.test")
    assert with_lines("scoring: {spam_hosts: [Bücher.test]}").scoring.spam_hosts == ("xn--bcher-kva.test",)


def test_an_instance_cannot_be_changed() -> None:
    icd = with_lines()
    with pytest.raises(ValueError, match="frozen"):
        icd.title = "another"
    with pytest.raises(ValueError, match="frozen"):
        icd.limits.pages = 3


def test_reference_files_are_read_as_text_and_web_addresses_are_left_to_the_crawler(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    page = "<!doctype html><title>Sun</title><body><script>var x</script><p>Panels on village roofs feed the grid.</p>"
    (tmp_path / "texts" / "a.html").write_text(page)
    (tmp_path / "b.txt").write_bytes("Wärmepumpe".encode("iso8859-1") + b" heizt das ganze Dorf im Winter")
    documents = "topic:\n  documents:\n    - texts/a.html\n    - https://example.org/x\n    - b.txt\n"
    (tmp_path / "solar.yaml").write_text(SMALLEST.replace("topic: {keywords: [solar power]}\n", documents))
    icd = Icd.load(tmp_path / "solar.yaml")
    assert set(icd.file_texts) == {"texts/a.html", "b.txt"}
    assert icd.file_texts["texts/a.html"].split() == ["Sun", "Panels", "on", "village", "roofs", "feed", "the", "grid."]
    assert "Wärmepumpe" in icd.file_texts["b.txt"]
    assert [(each.url, each.line) for each in icd.document_urls()] == [("https://example.org/x", 7)]
    mistake = icd.document_mistake("https://example.org/x", "answers 404 Not Found")
    assert str(mistake).startswith(f"{tmp_path}/solar.yaml:7: topic.documents[1]: answers 404 Not Found; ")


def test_a_fingerprint_is_of_the_meaning() -> None:
    one = with_lines("scope: {deny: [/a/, /b/]}", "limits: {time: 1 h}", "output: here")
    same = with_lines("# a comment", "limits:", "  time: '60 min'", "scope: {deny: ['/b/', '/a/']}")
    other = with_lines("scope: {deny: [/a/]}", "limits: {time: 2 h}")
    assert one.fingerprint() == same.fingerprint()
    assert changes(one, same) == ()
    assert changes(one, other) == ("limits.time", "scope.deny")
    assert changes(json.loads(json.dumps(one.meaning())), other) == ("limits.time", "scope.deny")


def test_the_text_of_a_reference_file_belongs_to_the_meaning(tmp_path: Path) -> None:
    (tmp_path / "solar.yaml").write_text(SMALLEST.replace("{keywords: [solar power]}", "{documents: [a.b.txt]}"))
    (tmp_path / "a.b.txt").write_text("roofs with panels")
    before = Icd.load(tmp_path / "solar.yaml")
    (tmp_path / "a.b.txt").write_text("windmills on hills")
    assert changes(before, Icd.load(tmp_path / "solar.yaml")) == ("file.a.b.txt",)


def test_the_user_agent_is_one_honest_line_of_ascii() -> None:
    icd = with_lines('title: "Solardörfer (Ελλάδα)\\r\\nX-Evil: 1"', "operator: 'Stadtarchiv; Köln'")
    agent = icd.user_agent()
    assert agent.startswith("AAHCrawler/")
    assert agent.endswith(" (+archive@example.org; Stadtarchiv Koln; Solardorfer X-Evil: 1)")
    assert agent.isascii()
    assert agent.isprintable()


def test_a_loaded_file_names_itself_in_errors(tmp_path: Path) -> None:
    with pytest.raises(IcdError) as caught:
        Icd.load(tmp_path / "none.yaml")
    (mistake,) = caught.value.mistakes
    assert str(mistake).startswith(f"{tmp_path}/none.yaml:1: cannot be read (No such file or directory); ")
    with pytest.raises(IcdError, match="Is a directory"):
        Icd.load(tmp_path)


def test_how_files_are_kept_is_read_and_means_nothing_for_what_is_collected() -> None:
    icd = with_lines("archive: {target: ' sftp://me@archive.example.org/crawls ', reserve: 2 GB, size: 100 MB}")
    assert icd.archive.target == "sftp://me@archive.example.org/crawls"
    assert (icd.archive.reserve, icd.archive.size) == (2 * 10**9, 10**8)
    for address in ("sftp://host:22/a@b", "simplecache::sftp://me@host/a", "copies/here: or there@home"):
        assert with_lines(f"archive: {{target: '{address}'}}").archive.target == address
    plain = with_lines()
    assert (plain.archive.target, plain.archive.reserve, plain.archive.size) == ("", None, 10**9)
    assert changes(plain, icd) == ()
    assert "example.org/crawls" not in json.dumps(icd.meaning())
    assert str(icd.target_mistake("is x", "y")).startswith("solar.yaml:5: archive.target: is x")


def test_scored_links_can_be_posted_to_another_instance() -> None:
    icd = with_lines("scoring: {post_to: {url: 'HTTPS://Crawler.example.net', crawl: solar, at_least: 0.3}}")
    assert icd.scoring.post_to == PostTo(url="https://crawler.example.net/", crawl="solar", at_least=0.3)
    assert with_lines().scoring.post_to is None
    assert changes(icd, with_lines("scoring: {post_to: {url: 'https://crawler.example.net/', crawl: solar}}")) == (
        "scoring.post_to.at_least",
    )
    assert Icd.parse(icd.to_yaml().encode()).scoring == icd.scoring


def test_a_model_for_entities_is_a_package_or_a_folder(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    for name in ("config.cfg", "meta.json"):
        (tmp_path / "model" / name).write_text("")
    content = (SMALLEST + "scoring: {entity_model: model}").encode()
    icd = Icd.parse(content, tmp_path / "solar.yaml")
    assert icd.scoring.entity_model == str((tmp_path / "model").resolve())
    assert Icd.parse(icd.to_yaml().encode()).scoring.entity_model == icd.scoring.entity_model
    assert str(icd.model_mistake("is broken", "train it again")).startswith(
        f"{tmp_path}/solar.yaml:5: scoring.entity_model: is broken"
    )
