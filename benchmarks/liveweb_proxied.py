"""Sites that are reached through proxies which others made, see ``proxy_servers``."""

from collections.abc import Mapping
from dataclasses import replace

from aahcrawler.seeds import Verdict
from benchmarks.liveweb_sites import Site, behind
from benchmarks.proxy_servers import SERVERS

_ACCEPTED = {"127.0.0.1": {"certificates": "accept"}}
_USER = {"user": "me", "password": {"file": "{folder}/password"}}


def _refusing(program: str) -> Site:
    return replace(behind(f"{program}-refusing"), verdict=Verdict.PROXY_REFUSED, reachable=frozenset())


PROXIED: Mapping[str, Site] = {
    **{program: behind(program) for program in SERVERS},
    **{f"{program}-tls": behind(program, _ACCEPTED, listen="tls") for program in SERVERS},
    **{f"{program}-forward": behind(program, plain="forward") for program in ("tinyproxy", "squid")},
    **{
        f"{program}-login": behind(f"{program}-login", None, "http", **_USER) for program in ("tinyproxy", "microsocks")
    },
    **{f"{program}-refuses": _refusing(program) for program in ("tinyproxy", "squid", "danted")},
}
"""Cases by name, which begins with that of the program."""


def not_installed(name: str) -> str | None:
    """Return the program that a case needs and this machine has not, if there is one."""
    program = name.partition("-")[0]
    return program if name in PROXIED and SERVERS[program].path is None else None
