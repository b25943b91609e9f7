"""The one spelling that a crawl knows a page by, as its definition has it."""

from collections.abc import Callable, Mapping, Sequence
from fnmatch import translate
from re import IGNORECASE
from re import compile as compiled
from urllib.parse import unquote_plus

from aahcrawler import urls
from aahcrawler.posted_forms import posted_by
from aahcrawler.sessions import without_session
from online_analysis.icd.scoping import Canonical
from online_analysis.url_patterns import UrlPattern, first_match

Step = Callable[[str], str]


class Spelling:
    """The canonical form of URLs by ``scope.canonical``. It holds no state: a URL always gets the same form.

    >>> Spelling(Canonical(drop=("utm_*",), www={"a.test": "drop"}))("http://www.a.test/?utm_source=x&b=1")
    'http://a.test/?b=1'
    """

    def __init__(self, wanted: Canonical) -> None:
        steps: list[Step] = []
        if wanted.sessions == "drop":
            steps.append(without_session)
        if wanted.drop or wanted.sort:
            steps.append(_Query(wanted.drop, is_sorted=wanted.sort))
        if wanted.index:
            steps.append(_Index(wanted.index))
        if wanted.lower_case:
            steps.append(_LowerCase(wanted.lower_case))
        if wanted.www:
            steps.append(_Www(wanted.www))
        self._steps = tuple(steps)

    def __call__(self, url: str) -> str:
        """Return the spelling of a URL that ``urls.canonicalize`` has made; doing it twice changes nothing."""
        for step in self._steps if posted_by(url) is None else ():  # What a form sends is not to be changed.
            url = step(url)
        return url

    def url(self, text: str) -> str | None:
        """Return the URL that a text stands for, None where it is no http(s) URL."""
        url = urls.canonicalize(text)
        return None if url is None else self(url)


class _Query:
    """Leaves out parameters by their names, and puts the others in the order of their names."""

    def __init__(self, dropped: Sequence[str], *, is_sorted: bool) -> None:
        self._drops = compiled("|".join(map(translate, dropped)), IGNORECASE).match if dropped else None
        self._is_sorted = is_sorted

    def __call__(self, url: str) -> str:
        address, mark, query = url.partition("?")
        if not mark:
            return url
        kept = query.split("&")
        if self._drops is not None:
            kept = [each for each in kept if not self._drops(_name(each))]
        if self._is_sorted and all("=" in each for each in kept):
            kept.sort(key=_name)
        return f"{address}?{'&'.join(kept)}" if kept else address


def _name(parameter: str) -> str:
    return unquote_plus(parameter.partition("=")[0])


class _Index:
    """Leaves out the names of files that stand for their folder, where no query follows."""

    def __init__(self, names: Sequence[str]) -> None:
        self._endings = tuple(f"/{name.lower()}" for name in names)

    def __call__(self, url: str) -> str:
        ending = url[url.rfind("/") :]
        is_path = url.rfind("/") > url.find("://") + 2
        return url[: -len(ending) + 1] if is_path and ending.lower() in self._endings else url


class _LowerCase:
    """Writes paths of hosts that know no difference in small letters."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._hosts = tuple(UrlPattern.parse(f"host:{host}") for host in hosts)

    def __call__(self, url: str) -> str:
        if not first_match(self._hosts, url):
            return url
        path, mark, query = url.partition("?")
        return f"{path.lower()}{mark}{query}"


class _Www:
    """Leaves out ``www.`` on some hosts, and writes it on others."""

    def __init__(self, wanted: Mapping[str, str]) -> None:
        self._added = frozenset(host for host, what in wanted.items() if what == "add")
        self._dropped = frozenset(f"www.{host}" for host, what in wanted.items() if what == "drop")

    def __call__(self, url: str) -> str:
        scheme, _, rest = url.partition("://")
        host = urls.origin(url)[len(scheme) + 3 :].partition(":")[0]
        if host in self._added:
            return f"{scheme}://www.{rest}"
        return f"{scheme}://{rest[4:]}" if host in self._dropped else url
