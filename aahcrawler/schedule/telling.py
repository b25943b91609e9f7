"""Notify people of crawls by mail, webhook or command, never more often than they want.

Notices wait while the last message is too recent or a channel fails, and are then sent together. A thread of its own
sends them, so that no crawl waits for a mail server. The log says by which ways each was sent, so that the others are
resumed after a kill: a notice may be sent twice, and is not lost.
"""

import hashlib
import hmac
import json
import logging
import smtplib
import ssl
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from email.message import EmailMessage
from functools import partial
from typing import Final, Protocol
from urllib.error import HTTPError

from aahcrawler import __version__
from aahcrawler.schedule.schedule_file import Mail, Tell, Webhook
from aahcrawler.schedule.visit_log import Notice, VisitLog
from online_analysis.icd.secrets import SecretError

logger = logging.getLogger(__name__)
SIGNATURE: Final = "X-AAH-Signature-256"
"""The header of a webhook with ``sha256=`` and the hexadecimal HMAC of its body."""
MAX_NOTICES: Final = 200
"""Notices in one message; the others are counted."""
_MAX_WAITING: Final = 10_000
_TIMEOUT: Final = 30.0
_RETRY_AFTER: Final = 60.0
_PORTS: Final = {"starttls": 587, "tls": 465, "none": 25}
_FAILURES: Final = (OSError, smtplib.SMTPException, SecretError, subprocess.SubprocessError, ValueError)


class Way(Protocol):
    """A function that sends a message. It may block, and raises one of ``_FAILURES`` if it fails."""

    def __call__(self, notices: Sequence[Notice], others: int) -> None:
        """Send notices, and the number of further ones that are left out."""
        ...


def message_of(notices: Sequence[Notice], others: int = 0) -> Mapping[str, object]:
    """Return the message that a webhook posts, and that a command gets as JSON on its standard input."""
    told = [{**asdict(each), "at": each.at.isoformat(timespec="seconds")} for each in notices]
    return {"software": f"AAHCrawler/{__version__}", "notices": told, "others": others}


def by_mail(mail: Mail, notices: Sequence[Notice], others: int) -> None:
    """Send one mail."""
    message = EmailMessage()
    message["From"], message["To"] = mail.sender, ", ".join(mail.to)
    worst = next((each for each in notices if each.occasion == "failed"), notices[0])
    more = f", and {len(notices) + others - 1} more" if len(notices) + others > 1 else ""
    message["Subject"] = f"Crawl {worst.entry}: {worst.outcome or worst.occasion}{more}"
    paragraphs = [
        f"{each.at:%Y-%m-%d %H:%M} UTC  {each.entry}: {each.outcome or each.occasion}\n{each.text}" for each in notices
    ]
    message.set_content("\n\n".join([*paragraphs, *([f"and {others:,} others: aah schedule log"] if others else [])]))
    port = mail.port or _PORTS[mail.security]
    context = ssl.create_default_context()
    secure = partial(smtplib.SMTP_SSL, context=context) if mail.security == "tls" else smtplib.SMTP
    with secure(mail.server, port, timeout=_TIMEOUT) as server:
        if mail.security == "starttls":
            server.starttls(context=context)
        if mail.password is not None:
            server.login(mail.user, mail.password.reveal())
        server.send_message(message)


def by_webhook(webhook: Webhook, notices: Sequence[Notice], others: int) -> None:
    """Post JSON; any status but success is a failure. Redirects are not followed."""
    body = json.dumps(message_of(notices, others), ensure_ascii=False).encode()
    headers = {"Content-Type": "application/json", "User-Agent": f"AAHCrawler/{__version__}"}
    if webhook.secret is not None:
        key = webhook.secret.reveal().encode()
        headers[SIGNATURE] = f"sha256={hmac.new(key, body, hashlib.sha256).hexdigest()}"
    request = urllib.request.Request(str(webhook.url), body, headers, method="POST")  # noqa: S310 (http or https)
    with urllib.request.build_opener(_NoRedirect).open(request, timeout=_TIMEOUT):
        pass


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: urllib.request.Request, *_: object) -> None:
        raise HTTPError(req.full_url, 302, "answers with a redirect; name where it leads to", req.headers, None)  # type: ignore[arg-type]


def by_command(command: Sequence[str], notices: Sequence[Notice], others: int) -> None:
    """Run a command, without a shell, with a line of JSON on its input; a non-zero exit code is a failure."""
    body = json.dumps(message_of(notices, others), ensure_ascii=False).encode() + b"\n"
    subprocess.run(list(command), input=body, stdout=subprocess.DEVNULL, timeout=_TIMEOUT, check=True)


def ways_of(tell: Tell) -> Mapping[str, Way]:
    """Return the ways to notify that a schedule configures, by name."""
    ways: dict[str, Way] = {}
    if tell.mail is not None:
        ways["mail"] = partial(by_mail, tell.mail)
    if tell.webhook is not None:
        ways["webhook"] = partial(by_webhook, tell.webhook)
    if tell.command:
        ways["command"] = partial(by_command, tell.command)
    return ways


class Teller:
    """Sends notices by all configured ways, each independent of the others. Any thread may call it; it never blocks.

    ``sent`` is called by another thread when there is something to ``note``.
    """

    def __init__(
        self, tell: Tell, clock: Callable[[], float] = time.monotonic, sent: Callable[[], None] = lambda: None
    ) -> None:
        self._clock = clock
        self._sent = sent
        self._unnoted: list[tuple[Notice, Sequence[str]]] = []
        self._delivered: list[tuple[Notice, str]] = []
        self._changed = threading.Condition()
        self._channels: dict[str, _Channel] = {}
        self._ends_at: float | None = None
        self.follow(tell)
        self._thread = threading.Thread(target=self._work, name="telling", daemon=True)

    def follow(self, tell: Tell) -> None:
        """Send by another configuration from now on; a way that both have keeps the notices that wait for it."""
        with self._changed:
            self._of, every = frozenset(tell.of), tell.every.total_seconds()
            known = self._channels
            self._channels = {name: _Channel(name, way, every, known.get(name)) for name, way in ways_of(tell).items()}
            self._changed.notify()

    def __call__(self, notice: Notice) -> None:
        """Queue a notice for all ways, if the configuration names its occasion; ignore it otherwise."""
        if notice.occasion not in self._of:
            return
        with self._changed:
            for channel in self._channels.values():
                channel.add(notice)
            self._unnoted.append((notice, list(self._channels)))
            self._changed.notify()

    def resume(self, log: VisitLog) -> None:
        """Queue the notices that the log has as not sent yet. Call it before any other notice is queued."""
        with self._changed:
            for name, channel in self._channels.items():
                for notice in log.undelivered(name):
                    channel.add(notice)
            self._changed.notify()

    def note(self, log: VisitLog) -> None:
        """Record new notices in the log, and by which ways notices were sent; what fails to be is recorded next time.

        Raise ``sqlite3.Error``.
        """
        with self._changed:
            delivered = len(self._delivered)
        while self._unnoted:
            log.noticed(*self._unnoted[0])
            del self._unnoted[0]
        for _ in range(delivered):
            log.delivered(*self._delivered[0], datetime.now(UTC))
            del self._delivered[0]

    @contextmanager
    def working(self, last_seconds: float = 2 * _TIMEOUT) -> Iterator[None]:
        """Send notices while the context lasts; at its end, wait up to ``last_seconds`` for those still queued."""
        self._thread.start()
        try:
            yield
        finally:
            with self._changed:
                self._ends_at = self._clock() + last_seconds
                self._changed.notify()
            self._thread.join(last_seconds)

    def _work(self) -> None:
        while True:
            with self._changed:
                channel, wait = self._next()
                if channel is None:
                    if self._ends_at is not None:
                        return
                    self._changed.wait(wait)
                    continue
                notices, others = channel.take()
            if channel.tell(notices, others, self._clock):
                with self._changed:
                    self._delivered += [(each, channel.name) for each in notices]
                self._sent()

    def _next(self) -> tuple["_Channel | None", float | None]:
        """Return the channel that is to send now, or the seconds until one is; when stopping, no channel waits."""
        waiting = [each for each in self._channels.values() if each.waiting]
        now = self._clock()
        for each in waiting:
            if each.not_before <= now or (self._ends_at is not None and not each.has_failed):
                return each, None
        return None, min((each.not_before - now for each in waiting), default=None)


class _Channel:
    """One way, with the notices queued for it."""

    def __init__(self, name: str, way: Way, every: float, former: "_Channel | None") -> None:
        self.name = name
        self._way = way
        self._every = every
        self.waiting: list[Notice] = former.waiting if former else []
        self.others: int = former.others if former else 0
        self.not_before: float = former.not_before if former else 0.0
        self.has_failed = False

    def add(self, notice: Notice) -> None:
        """Queue a notice; if the queue is full, only count it."""
        if len(self.waiting) < _MAX_WAITING:
            self.waiting.append(notice)
        else:
            self.others += 1

    def take(self) -> tuple[list[Notice], int]:
        """Empty the queue; return its notices, and the number of those only counted."""
        told, others = self.waiting, self.others
        self.waiting, self.others = [], 0
        return told, others

    def tell(self, notices: Sequence[Notice], others: int, clock: Callable[[], float]) -> bool:
        """Send notices in one message, and return whether that succeeded; if not, queue them again."""
        try:
            self._way(notices[:MAX_NOTICES], len(notices[MAX_NOTICES:]) + others)
        except _FAILURES as error:
            self.waiting, self.others = [*notices, *self.waiting][:_MAX_WAITING], self.others + others
            self.has_failed = True
            self.not_before = clock() + max(self._every, _RETRY_AFTER)
            logger.warning("nobody could be told by %s of %d events: %s", self.name, len(notices) + others, error)
        else:
            self.has_failed = False
            self.not_before = clock() + self._every
        return not self.has_failed
