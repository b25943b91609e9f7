"""The fields of a definition that reach what is this machine's own, or that widen what a crawl may do.

The former are its secrets and files, and where they are sent; the latter widen what a crawl reaches, keeps, or shows to
whoever may read it.
"""

from collections.abc import Iterator, Mapping, Set
from ipaddress import IPv4Network, IPv6Network
from typing import Final

from aahcrawler.service.web.problems import BAD_DEFINITION, MistakeView, ProblemError
from aahcrawler.service.web.roles import Caller, Role, checked
from online_analysis.icd import Icd

_WHOLE: Final = frozenset({"archive.target", "scoring.entity_model", "scoring.post_to"})
_NAMES: Final = frozenset({"ca_file", "client_certificate", "client_key", "cookies_file", "env", "file"})
_ARCHIVES: Final = "archive"
"""How archives of this machine are named among the sources of captures."""
_PROBLEM = "reaches this machine's own files or secrets"
_ADVICE = "write it into the file of the definition on the machine itself, or leave it out"


def machine_fields(icd: Icd) -> Mapping[str, object]:
    """Return the fields of a definition that reach the machine's own, by their paths, with their values."""
    found = dict(_reaching(icd.model_dump(mode="json", exclude={"output"}), ""))
    return {**found, **{f"file {name}": name for name in icd.file_names}}


def refuse_machine_fields(icd: Icd, before: Icd | None = None, own: Set[str] = frozenset()) -> None:
    """Raise ``ProblemError`` where a definition that came by the network reaches what is this machine's own.

    Files and archives that are ``own`` came with it, or were chosen among those of the service. What it did ``before``
    it may go on to do, and where it names secrets the rest of ``network`` stays as well, which says to whom they are
    sent.
    """
    allowed = {} if before is None else machine_fields(before)
    new = [
        name
        for name, value in machine_fields(icd).items()
        if not all(each in own for each in _named(value)) and (name not in allowed or allowed[name] != value)
    ]
    if before is not None and any(name.startswith("network.") for name in allowed) and before.network != icd.network:
        new.append("network")
    if new:
        mistakes = tuple(MistakeView(line=1, field=name, problem=_PROBLEM, advice=_ADVICE) for name in new)
        raise ProblemError(BAD_DEFINITION, f"{', '.join(new)}: {_PROBLEM}; {_ADVICE}", mistakes=mistakes)


def _named(value: object) -> list[object]:
    return value if isinstance(value, list) else [value if isinstance(value, str) else None]


def _reaching(value: object, path: str) -> Iterator[tuple[str, object]]:
    name = path.rpartition(".")[2]
    if path in _WHOLE or name in _NAMES or (name == _ARCHIVES and path.startswith("captures.")):
        if value:
            yield path, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _reaching(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _reaching(inner, f"{path}[{place}]")


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
