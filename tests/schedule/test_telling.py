"""People are told by mail, webhook and command, together and not too often, and nothing that fails is forgotten."""

import hashlib
import hmac
import json
import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes, policy
from pathlib import Path

import pytest

from aahcrawler.schedule.schedule_file import Schedule, Tell
from aahcrawler.schedule.telling import MAX_NOTICES, SIGNATURE, Teller
from aahcrawler.schedule.visit_log import Found, Notice, Noticed, Outcome, VisitLog
from tests.crawl.crawling import until
from tests.crawl.site import Reply, Site, serving

AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
FAILED = Notice(AT, "forum", "failed", "failed 5 times in a row: no röom", Outcome.FAILED)
ENDED = Notice(AT, "blog", "ended", "7 pages, 0 new, 2 changed, 0 gone", Outcome.ENDED, Found(3, 7, 0, 2))
ATTENTION = Notice(AT, "news", "attention", "http://a.test/: login failed")


def tell(text: str) -> Tell:
    return Schedule.parse(f"crawls: {{a: {{definition: a, every: day}}}}\ntell: {text}".encode()).tell


@dataclass
class Hand:
    """A clock that is set by hand."""

    at: float = 0.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("HOOK_SECRET", "a word of mine")
    return "a word of mine"


@pytest.mark.starts
def test_a_webhook_gets_signed_json(secret: str) -> None:
    with serving(Site()) as site:
        site.other = Reply(b"")
        teller = Teller(
            tell(f"{{of: [ended, failed], webhook: {{url: '{site.url}hook', secret: {{env: HOOK_SECRET}}}}}}")
        )
        with teller.working():
            teller(ENDED)
            teller(ATTENTION)
    (asked,) = site.asked
    body = asked.body.encode("latin-1")
    headers = {name.lower(): value for name, value in asked.headers}
    assert headers[SIGNATURE.lower()] == f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"
    (notice,) = json.loads(body)["notices"]
    assert (notice["entry"], notice["occasion"], notice["outcome"]) == ("blog", "ended", "ended")
    assert (notice["at"], notice["found"]["changed"]) == ("2026-03-02T12:00:00+00:00", 2)


@pytest.mark.starts
def test_what_comes_too_soon_is_told_together_later_and_what_failed_again(
    secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert secret
    hand = Hand()
    with serving(Site()) as site:
        site.other = Reply(status=500)
        way = f"{{every: 10 min, webhook: {{url: '{site.url}', secret: {{env: HOOK_SECRET}}}}}}"
        teller = Teller(tell(way), hand)
        with teller.working():
            teller(FAILED)
            until(
                lambda: "nobody could be told" in caplog.text
            )  # By the clock as it stands: what fails later is tried later.
            teller(ATTENTION)
            site.other = Reply(b"")
            hand.at = 599.0
            teller(ATTENTION)
            assert len(site.asked) == 1
            hand.at = 601.0
            teller(ATTENTION)
            until(lambda: len(site.asked) == 2)
            for _ in range(MAX_NOTICES + 5):
                teller(ATTENTION)
    told = [json.loads(asked.body) for asked in site.asked]
    assert [[each["entry"] for each in one["notices"]] for one in told[:2]] == [["forum"], ["forum", *["news"] * 3]]
    assert (len(told), len(told[2]["notices"]), told[2]["others"]) == (3, MAX_NOTICES, 5)


@pytest.mark.starts
def test_a_command_gets_json_and_no_shell(tmp_path: Path) -> None:
    said = tmp_path / "it's; $HOME"
    code = "import sys; open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())"
    teller = Teller(Tell(command=(sys.executable, "-c", code, str(said))))
    with teller.working():
        teller(FAILED)
    assert json.loads(said.read_bytes())["notices"][0]["text"] == FAILED.text
    assert said.read_bytes().endswith(b"}\n")


@dataclass
class Post:
    """An SMTP server for one mail at a time, as RFC 5321 has it; without encryption."""

    port: int = 0
    mails: list[bytes] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


@contextmanager
def post() -> Iterator[Post]:
    taken = Post()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 post.test\r\n")
            for line in self.rfile:
                said = line.decode().rstrip()
                taken.said.append(said)
                if said.upper() == "DATA":
                    self.wfile.write(b"354 go on\r\n")
                    body = iter(self.rfile.readline, b".\r\n")
                    taken.mails.append(b"".join(body))
                self.wfile.write(b"221 bye\r\n" if said.upper() == "QUIT" else b"250 post.test\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        taken.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield taken
        finally:
            server.shutdown()


def mail(port: int, security: str) -> Tell:
    to = "[one@example.test, two@example.test]"
    where = f"server: 127.0.0.1, port: {port}, security: {security}"
    return tell(f"{{mail: {{to: {to}, sender: us@example.test, {where}}}}}")


@pytest.mark.starts
def test_a_mail_says_what_happened() -> None:
    with post() as taken:
        teller = Teller(mail(taken.port, "none"))
        teller(ATTENTION)
        teller(FAILED)
        with teller.working():
            pass
    (sent,) = taken.mails
    message = message_from_bytes(sent, policy=policy.default)
    assert (message["Subject"], message["To"]) == (
        "Crawl forum: failed, and 1 more",
        "one@example.test, two@example.test",
    )
    text = message.get_content().replace("\r\n", "\n")
    assert "forum: failed\nfailed 5 times in a row: no röom" in text
    assert "news: attention\nhttp://a.test/: login failed" in text


@pytest.mark.starts
def test_no_mail_goes_unencrypted_where_encryption_is_asked_for() -> None:
    with post() as taken:
        teller = Teller(mail(taken.port, "starttls"))
        teller(FAILED)
        with teller.working():
            pass
    assert taken.mails == []
    assert not any(said.upper().startswith("MAIL") for said in taken.said)


@pytest.mark.starts
def test_what_a_way_did_not_take_before_a_kill_is_told_by_it_after_the_restart(tmp_path: Path) -> None:
    said, begun = tmp_path / "said", tmp_path / "begun"
    writes = "import sys; open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())"
    hangs = "import sys, time; open(sys.argv[1], 'w').close(); time.sleep(5)"
    with serving(Site()) as site, VisitLog.opened(tmp_path / "log.sqlite") as log:
        site.other = Reply(b"")

        def teller(code: str, file: Path) -> Teller:
            both = tell(f"{{of: [ended], webhook: {{url: '{site.url}'}}}}")
            return Teller(both.model_copy(update={"command": (sys.executable, "-c", code, str(file))}))

        # As a kill leaves it: the webhook took the notice, the command was still at it.
        killed = teller(hangs, begun)
        killed(ENDED)
        killed.note(log)
        with killed.working(0.0):
            until(lambda: len(site.asked) == 1 and begun.exists())
            killed.note(log)
        assert log.notices("blog") == [Noticed(ENDED, ("webhook",), ("command",))]
        restarted = teller(writes, said)
        restarted.resume(log)
        with restarted.working():
            pass
        restarted.note(log)
        assert log.notices("blog") == [Noticed(ENDED, ("command", "webhook"))]
    (notice,) = json.loads(said.read_bytes())["notices"]
    assert (notice["entry"], notice["outcome"], notice["found"]["changed"]) == ("blog", "ended", 2)
    assert len(site.asked) == 1
