"""A case: a small site, and what is right of a crawl of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.exact_server import Reply, Request

Page = Reply | Callable[[Request], Reply]
"""An answer, or what makes one of a request."""
Site = Mapping[str, Page] | Callable[[Request], Reply]
"""Answers by target, the query included, or what answers all requests."""


def host_of(name: str) -> str:
    """Return the host that a case's site is served at."""
    return f"{name}.example"


@dataclass(frozen=True, slots=True)
class WantedObject:
    """An object that somebody wrote, told by words of its body, and by the page that it stands on.

    ``dates`` are beginnings of ISO 8601, any of which is right, and None where it may be undated. ``authors`` are
    judged likewise, where there are any. ``title`` is a part of its title.
    """

    page: str
    says: str
    dates: tuple[str | None, ...] = (None,)
    authors: tuple[str | None, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class WantedPage:
    """What is to be read on a page: a part of its title, and how many objects it has; None is any number."""

    page: str
    title: str = ""
    objects: int | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A site, and what is right of a crawl of it. Pages are named by targets, or by whole URLs on other hosts.

    ``others`` are further hosts below its own. ``wanted`` are the targets that must be asked for, and one of each of
    ``one_of``; ``may`` is a regular expression of those that may be. All else that is asked for is invented. Where a
    target carries an id that is no part of the page, ``same_page`` returns it without, and at most ``with_ids`` targets
    may be asked for with one. ``gives`` tells whether the seeds give pages; what the crawl says of them must agree.
    ``icd`` is added to the definition. One that is ``alone`` has a crawl of its own, whose exit code counts. One
    ``aside`` was not looked at while the crawler was mended.
    """

    kind: str
    name: str
    site: Site
    wanted: Sequence[str] = ()
    one_of: Sequence[Sequence[str]] = ()
    may: str = ""
    objects: Sequence[WantedObject] = ()
    pages: Sequence[WantedPage] = ()
    seeds: Sequence[str] = ("/",)
    others: Sequence[str] = ()
    same_page: Callable[[str], str] | None = None
    with_ids: int = 10
    gives: bool = True
    icd: str = ""
    alone: bool = False
    aside: bool = False

    @property
    def host(self) -> str:
        """The host of the site."""
        return host_of(self.name)

    @property
    def hosts(self) -> tuple[str, ...]:
        """All hosts of the site."""
        return (self.host, *(f"{other}.{self.host}" for other in self.others))

    def url(self, target: str) -> str:
        """Return the URL of a target, as it is where it is one."""
        return target if target.startswith("http://") else f"http://{self.host}{target}"

    def answer(self, request: Request) -> Reply | None:
        """Return the answer to a request, None where there is no such page. Other hosts' targets are whole URLs."""
        if callable(self.site):
            return self.site(request)
        host = request.field("Host").partition(":")[0].lower()
        target = request.target if host == self.host else f"http://{host}{request.target}"
        page = self.site.get(target)
        return page(request) if callable(page) else page


KEYWORD: Final = "harbour"
"""What the crawls look for."""
