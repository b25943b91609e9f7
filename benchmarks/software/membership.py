"""A member of a site that shows itself to members alone: how a crawl logs in as one, and what it may not tell."""

import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks import secret_search
from benchmarks.software.front import Asked
from benchmarks.software.installation import Login

_LEAST: Final = 16
"""Characters of a cookie by which somebody may be known; one that is deleted is empty."""
VARIABLE: Final = "AAH_SOFTWARE_PASSWORD"
"""The variable of the crawl's environment that has the member's password."""


def _password() -> str:
    """Return a password that is spelled in another way in each kind of text."""
    return f'{secrets.token_urlsafe(9)} &<"/+%?{secrets.token_urlsafe(9)}'


@dataclass(frozen=True, slots=True)
class Member:
    """Who logs in to a site."""

    login: Login
    name: str
    password: str = field(default_factory=_password, repr=False)

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that the crawl needs."""
        return {VARIABLE: self.password}

    def write(self, target: Path) -> Path:
        """Write what the application is to know of the member; return where it was written."""
        target.write_text(json.dumps({"name": self.name, "password": self.password}), "utf-8")
        return target

    def network(self, seed: str) -> str:
        """Return the section of the definition by which a crawl of the site is let in."""
        fields = {self.login.user: self.name, self.login.password: {"env": VARIABLE}}
        login = {"url": seed + self.login.path, "fields": fields, "logged_in": self.login.sign}
        return json.dumps({"allow_private": True, "secrets_over_http": ["127.0.0.1"], "logins": [login]})

    def logins(self, log: Iterable[Asked]) -> int:
        """Return how often the form was sent and led on."""
        forms = (each for each in log if each.method == "POST" and each.path.startswith(f"/{self.login.path}"))
        return sum(each.status in (302, 303) for each in forms)

    def missed(self, log: Iterable[Asked]) -> frozenset[str]:
        """Return the pages of which the last that was seen is that one has to log in."""
        last = {each.path: each.location for each in log}
        return frozenset(path for path, location in last.items() if f"/{self.login.path}" in location)

    def leaks(self, crawled: Path, said: Mapping[str, str], tokens: Iterable[str]) -> list[str]:
        """Return the files of a crawl, and the names of other texts, that hold the password or a cookie of a session.

        The cookies belong into the frontier, the password nowhere.
        """
        known_by = [token for token in tokens if len(token) >= _LEAST]
        return secret_search.leaks(crawled, said, [self.password], known_by)
