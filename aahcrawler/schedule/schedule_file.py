"""A schedule: a YAML file that names definitions, the rhythm of each, and whom to notify.

It is parsed like an ICD, each mistake with its line. Crawls run in the schedule's folder, so relative file names and
outputs refer to it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, HttpUrl, ValidationError, model_validator

from aahcrawler.revisits.visit_budget import Objective
from aahcrawler.schedule.page_rhythms import DownloadsADay, PageRhythm
from aahcrawler.schedule.rhythms import Rhythmic
from aahcrawler.schedule.yaml_file import YamlFile
from online_analysis.icd.explanations import mistakes_of
from online_analysis.icd.mistakes import IcdError, Section, refuse
from online_analysis.icd.secrets import Secret
from online_analysis.icd.sections import Duration, FolderName
from online_analysis.icd.units import parse_duration
from online_analysis.icd.yaml_source import read_source

Occasion = Literal["ended", "failed", "attention"]
"""The occasion of a notice: a crawl ended as it should, failed for good, or needs somebody."""


def _address(text: str) -> str:
    local, at, domain = text.strip().rpartition("@")
    if not (at and local and domain) or any(each.isspace() or not each.isprintable() for each in text.strip()):
        raise refuse("is no mail address", "write it as name@example.org")
    return text.strip()


MailAddress = Annotated[str, Field(max_length=320), AfterValidator(_address)]


class Mail(Section):
    """Notification by mail over SMTP. With ``user``, the connection must be encrypted before the password is sent."""

    to: tuple[MailAddress, ...] = Field(min_length=1, max_length=50, examples=["[archive@example.org]"])
    sender: MailAddress = Field(examples=["crawler@example.org"])
    server: str = Field(default="localhost", max_length=253, examples=["smtp.example.org"])
    port: int = Field(default=0, ge=0, le=65535, examples=["587"])
    security: Literal["starttls", "tls", "none"] = Field(default="starttls", examples=["starttls"])
    user: str = Field(default="", max_length=320, examples=["crawler"])
    password: Secret | None = Field(default=None, examples=["{env: SMTP_PASSWORD}"])

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if bool(self.user) != (self.password is not None):
            raise refuse("has a user without a password, or the reverse", "write both, or neither")
        if self.user and self.security == "none":
            raise refuse("would send the password in plain text", "write `security: starttls` or `security: tls`")
        return self


class Webhook(Section):
    """Notification by posting JSON to a URL; with ``secret``, the body is signed (HMAC-SHA256)."""

    url: HttpUrl = Field(examples=["https://hooks.example.org/crawls"])
    secret: Secret | None = Field(default=None, examples=["{file: ~/.webhook-secret}"])


class Tell(Section):
    """Who is notified, on which occasions, and how often at most."""

    of: tuple[Occasion, ...] = Field(default=("failed", "attention"), examples=["[ended, failed, attention]"])
    every: Duration = Field(default=parse_duration("10 min"), examples=["10 min"])
    mail: Mail | None = Field(default=None, examples=["{to: [archive@example.org], sender: crawler@example.org}"])
    webhook: Webhook | None = Field(default=None, examples=["{url: https://hooks.example.org/crawls}"])
    command: tuple[str, ...] = Field(default=(), max_length=100, examples=["[/usr/local/bin/tell-us, --crawl]"])


class Entry(Rhythmic):
    """A definition that is crawled again and again, by ``workers`` processes.

    With ``pages``, each known page has its own interval, and is left out of visits while it is not due.
    """

    definition: str = Field(min_length=1, max_length=1000, examples=["flood-forum.yaml"])
    workers: int = Field(default=1, ge=1, le=100, examples=["2"])
    accept_changes: bool = Field(default=False, examples=["yes"])
    pages: PageRhythm | None = Field(default=None, examples=["{least: 1 h, greatest: 365 days}"])

    @model_validator(mode="after")
    def _one_process(self) -> Self:
        if self.pages is not None and self.workers > 1:
            raise refuse("has rhythms of pages, which one process alone can follow", "leave out `workers` or `pages`")
        return self


class Schedule(YamlFile):
    """A schedule without mistakes. ``parallel`` crawls run at once; a visit is given up after ``attempts`` failures.

    ``budget`` is divided, by ``objective``, over the known pages of all crawls with ``pages`` but without a budget of
    their own.
    """

    parallel: int = Field(default=2, ge=1, le=1000, examples=["4"])
    attempts: int = Field(default=5, ge=1, le=100, examples=["5"])
    objective: Objective = Field(default=Objective.CHANGES, examples=["freshness"])
    budget: DownloadsADay | None = Field(default=None, examples=["20000 a day"])
    retry: Duration = Field(default=parse_duration("1 min"), examples=["1 min"])
    tell: Tell = Field(default_factory=Tell, examples=["{mail: {to: [archive@example.org]}}"])
    crawls: Mapping[FolderName, Entry] = Field(min_length=1, examples=["{forum: {definition: forum.yaml, every: day}}"])

    kind: ClassVar = "a schedule"
    usual: ClassVar = "schedule.yaml"
    begins: ClassVar = "`crawls`"
    advice: ClassVar = "name the file of a schedule, or write one (docs/watching.md)"

    @classmethod
    def sound(cls, path: Path) -> "tuple[Self, Mapping[str, str]]":
        """Read a schedule's file, leaving out entries with mistakes; return it with those mistakes, by entry.

        Raise ``IcdError`` for mistakes elsewhere, and if no entry is left.
        """
        content = cls.content(path)
        try:
            return cls.parse(content, str(path)), {}
        except IcdError as error:
            source = cls.source_of(content, str(path))
            crawls = source.data.get("crawls")
            if not isinstance(crawls, dict):
                raise
            faults: dict[str, str] = {}
            for mistake in error.mistakes:
                # Names of crawls may have dots, as paths of fields have.
                named = [each for each in crawls if f"{mistake.field}.".startswith(f"crawls.{each}.")]
                if not named:
                    raise
                faults.setdefault(max(named, key=len), str(mistake))
        kept = {name: each for name, each in crawls.items() if name not in faults}
        return cls.validated({**source.data, "crawls": kept}, source), faults


def page_rhythm(text: str) -> PageRhythm:
    """Parse the settings for known pages, ``{least: 1 h, greatest: 365 days}``.

    Raise ``IcdError`` with every mistake.
    """
    source = read_source(f"revisits: {text}".encode("utf-8", "replace"), "--revisits", "a rhythm", "`{least: 1 h}`")
    try:
        return PageRhythm.model_validate(source.data.get("revisits"))
    except ValidationError as error:
        raise IcdError([*source.mistakes, *mistakes_of(error, PageRhythm, source, ("revisits",))]) from None
