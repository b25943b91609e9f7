"""HTTP authentication: answer a server's challenge with basic (RFC 7617) or digest (RFC 7616) credentials."""

import hashlib
import re
import secrets
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

_ALGORITHMS: Final = {"SHA-256": "sha256", "SHA-512-256": "sha512_256", "MD5": "md5"}
"""The names of the algorithms in ``hashlib``, the safest first."""
_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"  # noqa: S105 - a token of HTTP
_PARAMETER = re.compile(rf'\s*({_TOKEN})\s*=\s*(?:"((?:[^"\\]|\\.)*)"|({_TOKEN}))\s*(?:,|$)')
_SCHEME = re.compile(rf"\s*,*\s*({_TOKEN})(?:\s+(?=\S)|\s*(?:,|$))")
_MAX_CHALLENGE_LENGTH: Final = 8_000


@dataclass(frozen=True, slots=True)
class Challenge:
    """A server's challenge: its scheme in lower case, and its parameters."""

    scheme: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def algorithm(self) -> str:
        """The digest algorithm without the suffix ``-sess``, in capitals."""
        return self.parameters.get("algorithm", "MD5").upper().removesuffix("-SESS")

    @property
    def is_known(self) -> bool:
        """Whether the client supports the challenge."""
        if self.scheme == "basic":
            return True
        offered = {each.strip().lower() for each in self.parameters.get("qop", "auth").split(",")}
        complete = {"realm", "nonce"} <= self.parameters.keys()
        return self.scheme == "digest" and complete and self.algorithm in _ALGORITHMS and "auth" in offered

    @property
    def rank(self) -> int:
        """The rank by safety; a lower rank is safer."""
        return len(_ALGORITHMS) if self.scheme == "basic" else list(_ALGORITHMS).index(self.algorithm)


def challenges(fields: Sequence[str]) -> tuple[Challenge, ...]:
    """Parse the WWW-Authenticate fields of a response, which may hold several challenges each.

    Invalid ones are skipped.
    """
    found: list[Challenge] = []
    for text in fields:
        rest = text[:_MAX_CHALLENGE_LENGTH]
        while (scheme := _SCHEME.match(rest)) is not None:
            rest = rest[scheme.end() :]
            parameters: dict[str, str] = {}
            while (parameter := _PARAMETER.match(rest)) is not None:
                quoted, plain = parameter[2], parameter[3]
                value = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
                parameters.setdefault(parameter[1].lower(), value)
                rest = rest[parameter.end() :]
            found.append(Challenge(scheme[1].lower(), parameters))
    return tuple(found)


class HostAuthentication:
    """The credentials for one origin, sent in the way that its last challenge asked for.

    Nothing is sent before the server has sent a challenge. ``new_nonce`` must return a client nonce.
    """

    def __init__(self, user: str, password: str, new_nonce: Callable[[], str] = lambda: secrets.token_hex(16)) -> None:
        self._user, self._password, self._new_nonce = user, password, new_nonce
        self._challenge: Challenge | None = None
        self._uses = 0

    @property
    def scheme(self) -> str:
        """The scheme in use; empty if no challenge has come."""
        return "" if self._challenge is None else self._challenge.scheme

    def take(self, fields: Sequence[str], *, was_answered: bool) -> bool:
        """Store the challenges of a 401 response; return whether the request is to be repeated.

        If the request was sent with credentials (``was_answered``), it is repeated only for a stale nonce; otherwise
        the password is wrong.
        """
        known = sorted((each for each in challenges(fields) if each.is_known), key=lambda each: each.rank)
        if not known:
            return False
        best, self._uses = known[0], 0
        self._challenge = best
        return not was_answered or best.parameters.get("stale", "").lower() == "true"

    def header(self, method: str, url: str) -> str:
        """Return the value of a request's Authorization header; empty if no challenge has come."""
        if self._challenge is None:
            return ""
        if self._challenge.scheme == "basic":
            return "Basic " + b64encode(f"{self._user}:{self._password}".encode()).decode("ascii")
        self._uses += 1
        return self._digest(self._challenge, method, _target(url))

    def _digest(self, asked: Challenge, method: str, target: str) -> str:
        realm, nonce = asked.parameters["realm"], asked.parameters["nonce"]
        name = asked.parameters.get("algorithm", "MD5")

        def hashed(text: str) -> str:
            return hashlib.new(_ALGORITHMS[asked.algorithm], text.encode(), usedforsecurity=False).hexdigest()

        own, count = self._new_nonce(), f"{self._uses:08x}"
        secret = hashed(f"{self._user}:{realm}:{self._password}")
        if name.upper().endswith("-SESS"):
            secret = hashed(f"{secret}:{nonce}:{own}")
        what = hashed(f"{method}:{target}")
        with_count = "qop" in asked.parameters
        middle = f"{nonce}:{count}:{own}:auth" if with_count else nonce
        quoted = {"username": self._user, "realm": realm, "nonce": nonce, "uri": target}
        quoted["response"] = hashed(f"{secret}:{middle}:{what}")
        if "opaque" in asked.parameters:
            quoted["opaque"] = asked.parameters["opaque"]
        plain = {"algorithm": name} if "algorithm" in asked.parameters else {}
        if with_count or name.upper().endswith("-SESS"):
            quoted["cnonce"] = own
        if with_count:
            plain |= {"qop": "auth", "nc": count}
        pieces = [f'{key}="{_quoted(value)}"' for key, value in quoted.items()]
        return "Digest " + ", ".join([*pieces, *(f"{key}={value}" for key, value in plain.items())])


def _target(url: str) -> str:
    parts = urlsplit(url)
    start = len(parts.scheme) + 3 + len(parts.netloc)
    target = url[start:].partition("#")[0]
    return target if target.startswith("/") else "/" + target


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').encode("utf-8").decode("latin-1")
