"""Crawls of sites that let nobody in whom they do not know."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.crawl.crawling import running
from tests.crawl.members import COOKIE_HOSTS, KEY, PASSWORD, USER, Members, serving
from tests.crawl.world import Crawled, define

pytestmark = pytest.mark.starts

LOGIN = {
    "url": "http://members.test/login",
    "fields": {"user": USER, "pass": {"env": "AAH_TEST_PASSWORD"}},
    "logged_in": "css=a.out",
}
ACCOUNT = {"user": USER, "password": {"env": "AAH_TEST_PASSWORD"}}


def crawl(folder: Path, members: Members, *hosts: str, password: str = PASSWORD, **sections: Any) -> Crawled:
    """Crawl some of the sites to the end."""
    sections.setdefault("network", members.network())
    icd = define(folder, [f"http://{host}/" for host in hosts], **sections)
    environment = {**os.environ, "AAH_TEST_PASSWORD": password, "AAH_TEST_KEY": KEY}
    with running("crawl", icd, environment=environment) as process:
        return Crawled(process.ended(), folder / "crawl")


def verdicts(crawled: Crawled) -> dict[str, str]:
    return {each["url"].removeprefix("http://").strip("/"): each["verdict"] for each in crawled.summary["seeds"]}


def test_walls_that_want_a_cookie_are_passed(tmp_path: Path) -> None:
    with serving(Members()) as members:
        crawled = crawl(tmp_path, members, *COOKIE_HOSTS)
    assert verdicts(crawled) == {"cookie.test": "fetched", "bounce.test": "fetched", "forgetful.test": "cookie wall"}
    assert members.of("bounce.test") == [("GET", "/"), ("GET", "/set"), ("GET", "/")]
    assert len(members.of("forgetful.test")) < 8


def test_without_cookies_they_are_walls(tmp_path: Path) -> None:
    with serving(Members()) as members:
        crawled = crawl(tmp_path, members, *COOKIE_HOSTS, network=members.network(cookies="off"))
    assert set(verdicts(crawled).values()) == {"cookie wall"}
    assert not any("Cookie" in headers for _, _, _, headers, _ in members.asked)


def test_hosts_that_ask_who_is_there_are_answered_and_no_others(tmp_path: Path) -> None:
    network = {"accounts": {"basic.test": ACCOUNT, "digest.test": ACCOUNT}}
    network["headers"] = {"key.test": {"X-Api-Key": {"env": "AAH_TEST_KEY"}, "X-Who": "me"}}
    with serving(Members()) as members:
        crawled = crawl(tmp_path, members, "basic.test", "digest.test", "key.test", network=members.network(**network))
    assert set(verdicts(crawled).values()) == {"fetched"}
    assert members.of("basic.test") == [("GET", "/"), ("GET", "/"), ("GET", "/2")]
    assert [path for _, path in members.of("digest.test")] == ["/", "/", "/2?a=b&c=%20"]
    for host, _, _, headers, _ in members.asked:
        assert ("X-Api-Key" in headers) is (host == "key.test")
        assert not (host == "key.test" and "Authorization" in headers)


def test_secrets_are_not_sent_without_encryption_unless_that_is_allowed(tmp_path: Path) -> None:
    network = {"accounts": {"basic.test": ACCOUNT}, "headers": {"key.test": {"X-Api-Key": {"env": "AAH_TEST_KEY"}}}}
    with serving(Members()) as members:
        section = members.network(**network, secrets_over_http=[])
        crawled = crawl(tmp_path, members, "basic.test", "key.test", network=section)
    assert verdicts(crawled)["key.test"] == "forbidden (403)"
    assert not any({"Authorization", "X-Api-Key"} & headers.keys() for _, _, _, headers, _ in members.asked)


def test_a_board_is_logged_in_to_and_not_out_of(tmp_path: Path) -> None:
    with serving(Members()) as members:
        crawled = crawl(tmp_path, members, "members.test", network=members.network(logins=[LOGIN]))
    assert verdicts(crawled) == {"members.test": "fetched"}
    assert members.logins == 1
    paths = [path for _, path in members.of("members.test")]
    assert {f"/t/{number}" for number in range(1, 9)} <= set(paths)
    assert not any(path.startswith(("/logout", "/farewell")) for path in paths)
    assert crawled.summary["pages"] == 9


def test_a_session_that_is_lost_is_begun_again(tmp_path: Path) -> None:
    with serving(Members(lasts=4)) as members:
        crawled = crawl(tmp_path, members, "members.test", network=members.network(logins=[LOGIN]))
    assert verdicts(crawled) == {"members.test": "fetched"}
    assert crawled.summary["pages"] == 9
    assert 2 <= members.logins <= 5


def test_a_wrong_password_is_tried_twice_and_said(tmp_path: Path) -> None:
    with serving(Members(password=f"not {PASSWORD}")) as members:
        crawled = crawl(tmp_path, members, "members.test", network=members.network(logins=[LOGIN]))
    assert verdicts(crawled) == {"members.test": "login failed"}
    assert sum(method == "POST" for method, _ in members.of("members.test")) == 2
    assert crawled.ended.code == 3
    assert "network.logins" in crawled.ended.err


def test_a_wrong_password_for_a_host_is_said_too(tmp_path: Path) -> None:
    network = {"accounts": {"basic.test": ACCOUNT, "digest.test": ACCOUNT}}
    with serving(Members()) as members:
        section = members.network(**network)
        crawled = crawl(tmp_path, members, "basic.test", "digest.test", password=f"not {PASSWORD}", network=section)
    assert set(verdicts(crawled).values()) == {"login failed"}
    assert len(members.of("basic.test")) == 2


def test_a_secret_that_is_not_there_is_said_before_anything_is_fetched(tmp_path: Path) -> None:
    login = {**LOGIN, "fields": {"user": USER, "pass": {"env": "AAH_TEST_NO_SUCH"}}}
    with serving(Members()) as members:
        crawled = crawl(tmp_path, members, "members.test", network=members.network(logins=[login]))
    assert crawled.ended.code == 2
    assert "AAH_TEST_NO_SUCH, which is not set here" in crawled.ended.err
    assert not members.asked


def test_a_file_of_cookies_lets_the_crawl_in(tmp_path: Path) -> None:
    file = tmp_path / "cookies.txt"
    file.write_text("# Netscape HTTP Cookie File\nmembers.test\tFALSE\t/\tFALSE\t0\tsid\tgiven-by-a-browser\n")
    file.chmod(0o600)
    with serving(Members(sessions={"given-by-a-browser": 1000})) as members:
        crawled = crawl(tmp_path, members, "members.test", network=members.network(cookies_file=str(file)))
    assert crawled.summary["pages"] >= 9
    assert members.logins == 0


def test_files_that_others_may_read_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "cookies.txt"
    file.write_text("# Netscape HTTP Cookie File\n")
    file.chmod(0o644)
    with serving(Members()) as members:
        crawled = crawl(tmp_path, members, "members.test", network=members.network(cookies_file=str(file)))
    assert crawled.ended.code == 2
    assert "0644" in crawled.ended.err
