"""The fields of a definition that widen what a crawl reaches, keeps, or shows to whoever may read it.

Whoever may steer crawls may not set them to more than they were: that needs the role ``widen``. To narrow them, or to
leave them as they are, does not. What is not written is judged as its default.
"""

from collections.abc import Iterator, Mapping, Set
from ipaddress import IPv4Network, IPv6Network
from typing import Final

from aahcrawler.service.web.roles import Caller, Role, checked
from online_analysis.icd import Icd

NARROWEST: Final[Mapping[str, str]] = {
    "archive.redact": "true",
    "browser.under_login": "false",
    "network.cookies": '"off"',
    "network.cookies_file": "null",
    "politeness.nofollow": '"obey"',
    "politeness.robots": '"obey"',
}
"""Fields of which every other value than this one is wider, as JSON."""
LISTED: Final[Set[str]] = frozenset({"network.logins", "network.secrets_over_http"})
"""Lists that each new entry widens."""
LED: Final[Set[str]] = frozenset({"network.proxy", "network.hosts"})
"""Ways to hosts, of which another one shows what is sent to somebody else: taking one away does, too."""
GIVEN: Final[Set[str]] = frozenset({"network.accounts", "network.headers", "network.resolve"})
"""What is given to hosts, or leads to them, each by its host: a new or another one widens."""
PRIVATE: Final = "network.allow_private"
"""Networks that are not public: one that lies in none of those before widens."""
_DEFAULTS: Final = Icd.model_validate(
    {"id": "none", "contact": "none@example.org", "seeds": ["http://none.test/"], "topic": {"keywords": ["none"]}}
)


def widened(icd: Icd, before: Icd | None = None) -> tuple[str, ...]:
    """Return the paths of fields that are wider than they were; of a new definition, wider than their defaults."""
    return tuple(sorted(set(_widened(icd, _DEFAULTS if before is None else before))))


def refuse_widening(caller: Caller, icd: Icd, before: Icd | None = None) -> None:
    """Raise ``ProblemError`` where somebody without the role ``widen`` widens what a definition allowed before."""
    if found := widened(icd, before):
        checked(caller, Role.WIDEN, f"to set {', '.join(found)} to more than before")


def _widened(icd: Icd, before: Icd) -> Iterator[str]:
    now, then = _texts(icd), _texts(before)
    yield from (path for path, least in NARROWEST.items() if now[path] not in (then[path], least))
    yield from (path for path in now.keys() | then.keys() if _is_below(path, LED) and now.get(path) != then.get(path))
    yield from (path for path, text in now.items() if _is_below(path, GIVEN) and text not in ("{}", then.get(path)))
    for path in LISTED:
        name = path.rpartition(".")[2]
        if any(entry not in getattr(before.network, name) for entry in getattr(icd.network, name)):
            yield path
    if not all(
        any(_lies_in(inner, outer) for outer in before.network.allow_private) for inner in icd.network.allow_private
    ):
        yield PRIVATE


def _texts(icd: Icd) -> Mapping[str, str]:
    return {**icd.meaning(), "archive.redact": "true" if icd.archive.redact else "false"}


def _is_below(path: str, fields: Set[str]) -> bool:
    return any(path == field or path.startswith(f"{field}.") for field in fields)


def _lies_in(inner: IPv4Network | IPv6Network, outer: IPv4Network | IPv6Network) -> bool:
    if isinstance(inner, IPv4Network):
        return isinstance(outer, IPv4Network) and inner.subnet_of(outer)
    return isinstance(outer, IPv6Network) and inner.subnet_of(outer)
