"""Finds the applications that describe single sites, by the host of a page, in time independent of their number."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from knowledge_base.model import Application


class HostIndex:
    """The site-level applications of a knowledge base; immutable after its construction.

    A look-up costs one step for each label of the host, and none for each site.
    """

    def __init__(self, applications: Iterable[Application] = ()) -> None:
        exact: defaultdict[str, dict[str, Application]] = defaultdict(dict)
        below: defaultdict[str, dict[str, Application]] = defaultdict(dict)
        for application in applications:
            for written in application.hosts:
                host = written.lower()
                if host.startswith("*."):
                    below[host[2:]].setdefault(application.name, application)
                else:
                    exact[host.removeprefix("www.")].setdefault(application.name, application)
        self._exact = {host: tuple(found.values()) for host, found in exact.items()}
        self._below = {host: tuple(found.values()) for host, found in below.items()}

    def of(self, url: str) -> tuple[Application, ...]:
        """Return the applications that describe the host of a canonical URL, those with the longest name first.

        A leading ``www.`` is ignored; a host ``*.a.test`` stands for everything below ``a.test``, but not for
        ``a.test``.
        """
        if not self._exact and not self._below:
            return ()
        return tuple({application.name: application for application in self._fitting(_host(url))}.values())

    def _fitting(self, host: str) -> Iterator[Application]:
        yield from self._exact.get(host, ())
        _, dot, parent = host.partition(".")
        while dot:
            yield from self._below.get(parent, ())
            _, dot, parent = parent.partition(".")


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].removeprefix("www.")
