"""Crawls of sites that let nobody in whom they do not know."""

import gzip
import os
import re
from base64 import b64encode
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
import yaml
from warcio.archiveiterator import ArchiveIterator

from online_analysis.icd import Icd
from tests.crawl.crawling import aah, running
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


def texts(folder: Path) -> dict[str, bytes]:
    """Return what is in each file of a crawl, archives decompressed."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            found[str(path.relative_to(folder))] = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    return found


def spelled(secret: str) -> set[bytes]:
    """Return how a secret may be written."""
    plain = {secret, quote(secret), quote_plus(secret), escape(secret), f"{USER}:{secret}"}
    return {each.encode() for each in plain} | {b64encode(each.encode()) for each in plain}


def secrets(members: Members) -> set[bytes]:
    """Return all by which others could be let in, however it is written."""
    words = spelled(PASSWORD) | spelled(KEY)
    return words | {b"session-of-the-archivist-%d" % number for number in range(1, members.logins + 1)}


EVERYWHERE = {
    "logins": [LOGIN],
    "accounts": {"basic.test": ACCOUNT, "digest.test": ACCOUNT},
    "headers": {"key.test": {"X-Api-Key": {"env": "AAH_TEST_KEY"}}},
}
SITES = ("members.test", "basic.test", "digest.test", "key.test", "cookie.test")


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Members, Crawled]]:
    with serving(Members()) as members:
        folder = tmp_path_factory.mktemp("known")
        yield members, crawl(folder, members, *SITES, network=members.network(**EVERYWHERE))


def test_secrets_are_in_no_file_but_where_they_belong(known: tuple[Members, Crawled]) -> None:
    members, crawled = known
    assert set(verdicts(crawled).values()) == {"fetched"}
    found = texts(crawled.folder)
    said = {"out": crawled.ended.out.encode(), "err": crawled.ended.err.encode()}
    holding = {name for name, text in {**found, **said}.items() for word in secrets(members) if word in text}
    # The cookies of sites are with the frontier, so that a crawl goes on where it stopped.
    assert {Path(name).parts[0] for name in holding} == {"frontier"}
    frontier = b"".join(text for name, text in found.items() if name.startswith("frontier"))
    assert b"session-of-the-archivist-1" in frontier
    assert not any(word in frontier for word in spelled(PASSWORD) | spelled(KEY))
    assert any(name.endswith(".warc.gz") for name in found)
    assert any(name.endswith(".nq.gz") for name in found)


def records(folder: Path) -> list[tuple[str, str, str, str, bytes]]:
    """Return type, URL, session and redaction of each record, and its block."""
    found = []
    for file in sorted((folder / "archive").glob("*.warc.gz")):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream):
                get = record.rec_headers.get_header
                named = [get(name) or "" for name in ("WARC-Type", "WARC-Target-URI", "AAH-Session", "AAH-Redacted")]
                http = record.http_headers.to_bytes() if record.http_headers else b""
                found.append((*named, http + record.raw_stream.read()))
    return found


def test_records_say_how_the_site_knew_the_crawl_and_what_is_masked(known: tuple[Members, Crawled]) -> None:
    kept = records(known[1].folder)
    sessions = {url: session for kind, url, session, _, _ in kept if kind == "request"}
    assert sessions["http://members.test/t/1"] == "login"
    assert sessions["http://basic.test/2"] == "basic"
    assert sessions["http://digest.test/2?a=b&c=%20"] == "digest"
    assert sessions["http://key.test/"] == "header"
    assert sessions["http://cookie.test/"] == ""
    masked = {(kind, url): (what, block) for kind, url, _, what, block in kept}
    assert "cookie" in masked["request", "http://members.test/t/1"][0]
    assert b"sid=REDACTED" in masked["request", "http://members.test/t/1"][1]
    assert b"Cookie: seen=1" in masked["request", "http://cookie.test/"][1]
    what, block = masked["response", "http://members.test/t/1"]
    assert what == "body of the response, cookie"
    assert b"Your session is REDACTED, your word REDACTED" in block
    login = [block for kind, url, _, _, block in kept if kind == "request" and b"POST /login" in block]
    assert [block.endswith(b"\r\n\r\nREDACTED") for block in login] == [True]


def test_the_archive_is_whole(known: tuple[Members, Crawled]) -> None:
    checked = aah("archive", "check", known[1].folder)
    assert checked.code == 0, checked.out + checked.err


def test_selections_leave_out_what_others_would_not_be_shown(known: tuple[Members, Crawled], tmp_path: Path) -> None:
    folder = known[1].folder
    without = aah("select", folder, "--score", ">=0", "--dry-run")
    assert [line.rpartition("\t")[2] for line in without.out.splitlines()] == ["http://cookie.test/"]
    left = int(without.err.partition("left out: ")[2].partition(" ")[0])
    everything = aah("select", folder, "--score", ">=0", "--dry-run", "--with-sessions")
    assert len(everything.out.splitlines()) == 1 + left
    assert aah("select", folder, "--score", ">=0", "--to", tmp_path / "public.warc.gz").code == 0
    assert b"AAH-Session" not in gzip.decompress((tmp_path / "public.warc.gz").read_bytes())


def test_triples_say_which_captures_were_made_under_a_session(known: tuple[Members, Crawled]) -> None:
    triples = b"".join(text for name, text in texts(known[1].folder).items() if name.endswith(".nq.gz"))
    assert triples.count(b'session> "login"') == 9


def test_without_redaction_records_are_as_they_passed(tmp_path: Path) -> None:
    with serving(Members()) as members:
        network = members.network(**EVERYWHERE)
        crawled = crawl(tmp_path, members, "members.test", network=network, archive={"redact": False})
        assert any(b"session-of-the-archivist-1" in block for *_, block in records(crawled.folder))
        assert any(quote_plus(PASSWORD).encode() in block for *_, block in records(crawled.folder))
        assert {what for *_, what, _ in records(crawled.folder)} == {""}
        found = texts(crawled.folder)
        triples = b"".join(text for name, text in found.items() if name.endswith(".nq.gz"))
        assert not any(word in triples for word in secrets(members))


GUIDE = (Path(__file__).parents[2] / "docs" / "sessions.md").read_text("utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)


def test_the_guide_has_examples_of_all_fields() -> None:
    text = "\n".join(EXAMPLES)
    assert all(f"{name}:" in text for name in ("cookies_file", "accounts", "headers", "logins", "logged_in"))


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_of_the_guide_are_definitions(example: str) -> None:
    whole = "id: a\ncontact: a@example.org\nseeds: [https://forum.example.org/]\ntopic: {keywords: [solar]}\n"
    assert Icd.parse((whole + example).encode()).network.cookies == "keep"


def test_the_guide_leads_into_a_board(tmp_path: Path) -> None:
    (example,) = (each for each in EXAMPLES if "logins:" in each)
    section = yaml.safe_load(example.replace("https://forum.example.org", "http://members.test"))["network"]
    with serving(Members()) as members:
        icd = define(tmp_path, ["http://members.test/"], network=members.network(**section))
        with running("crawl", icd, environment={**os.environ, "FORUM_PASSWORD": PASSWORD}) as process:
            crawled = Crawled(process.ended(), tmp_path / "crawl")
    assert verdicts(crawled) == {"members.test": "fetched"}
    assert crawled.summary["pages"] == 9


def test_a_crawl_that_goes_on_is_still_logged_in(tmp_path: Path) -> None:
    with serving(Members()) as members:
        network = members.network(logins=[LOGIN])
        first = crawl(tmp_path, members, "members.test", network=network, limits={"pages": 3})
        assert first.summary["pages"] == 3
        icd = define(tmp_path, ["http://members.test/"], network=network, limits={"pages": 9})
        environment = {**os.environ, "AAH_TEST_PASSWORD": PASSWORD}
        with running("crawl", "--accept-changes", icd, environment=environment) as process:
            again = Crawled(process.ended(), tmp_path / "crawl")
    assert members.logins == 1
    assert again.summary["pages"] == 9, again.ended.err


def test_workers_share_a_login(tmp_path: Path) -> None:
    with serving(Members()) as members:
        icd = define(tmp_path, ["http://members.test/"], network=members.network(logins=[LOGIN]))
        environment = {**os.environ, "AAH_TEST_PASSWORD": PASSWORD}
        with running("crawl", "--workers", "2", icd, environment=environment) as process:
            crawled = Crawled(process.ended(), tmp_path / "crawl")
    assert crawled.summary["pages"] == 9, crawled.ended.err
    assert members.logins == 1
    holding = [name for name, text in texts(crawled.folder).items() for word in spelled(PASSWORD) if word in text]
    assert holding == []


def test_what_was_masked_stays_so_when_redaction_is_switched_off(tmp_path: Path) -> None:
    with serving(Members()) as members:
        network = members.network(logins=[LOGIN])
        first = crawl(tmp_path, members, "members.test", network=network, limits={"pages": 3})
        before = texts(first.folder / "archive")
        urls = {url for _, url, *_ in records(first.folder)}
        unmasked = {"archive": {"redact": False}, "limits": {"pages": 9}}
        icd = define(tmp_path, ["http://members.test/"], network=network, **unmasked)
        environment = {**os.environ, "AAH_TEST_PASSWORD": PASSWORD}
        with running("crawl", "--accept-changes", icd, environment=environment) as process:
            assert process.ended().code == 0
    assert aah("reread", first.folder, "--all").code == 0
    after = texts(first.folder / "archive")
    assert {name: after[name] for name in before} == before, "nothing of it is written anew"
    held = b"".join(before.values())
    assert not any(word in held for word in secrets(members))
    shown = [
        any(word in block for word in secrets(members))
        for _, url, *_, what, block in records(first.folder)
        if url in urls and what
    ]
    assert shown
    assert not any(shown)
    # It did take effect for what came after it.
    new = b"".join(text for name, text in after.items() if name not in before)
    assert any(word in new for word in secrets(members))
    told = b"".join(text for name, text in texts(first.folder).items() if name.endswith(".nq.gz"))
    assert not any(word in told for word in secrets(members))
