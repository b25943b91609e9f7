"""What people decided about learned items of a crawl: accepted, or rejected and why."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Final

from filelock import FileLock
from lxml import etree
from pydantic import BaseModel, ConfigDict, ValidationError

from aahcrawler.adaptation.store.learned import Learned, LearnedSign
from aahcrawler.segments import append_line

DECISIONS: Final = "decisions.jsonl"
"""The file in the folder of learned items."""
_LOCK = ".lock"
_LARGEST = 16 << 20


class State(StrEnum):
    """What became of a learned item."""

    WAITING = "waiting"
    """Nobody has decided yet; crawls of this folder use it."""
    ACCEPTED = "accepted"
    """It became part of a file of the knowledge base."""
    REJECTED = "rejected"
    """No crawl of this folder uses it any more."""


class Decision(BaseModel):
    """A decision about a learned item: its `key_of`, when (UTC), by whom, and why; its names are for people."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    key: str
    state: State
    when: datetime
    who: str
    why: str = ""
    application: str = ""
    level: str = ""
    name: str = ""
    site: str = ""

    @property
    def words(self) -> str:
        """What was decided, by whom, when and why, in one line."""
        why = f": {self.why}" if self.why else ""
        return f"{self.state} by {self.who or 'somebody'} on {self.when:%Y-%m-%d %H:%M} UTC{why}"

    def is_about(self, place: tuple[str, str, str, str], learned: str) -> bool:
        """Return whether it is about the item of that application, level, name and site, as ``learned`` (ISO 8601).

        What took the place of an item of that name later has not been decided.
        """
        try:
            is_since = self.when >= datetime.fromisoformat(learned)
        except (ValueError, TypeError):
            return False
        return is_since and place == (self.application, self.level, self.name, self.site)


class Decisions:
    """The decisions about what one crawl learned; the last one about an item counts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, learned: Learned, state: State, who: str, why: str) -> Decision:
        """Note a decision. Raises ``OSError`` if the disk refuses."""
        decision = Decision(
            key=key_of(learned),
            state=state,
            when=datetime.now(UTC),
            who=who,
            why=why,
            application=learned.application,
            level=learned.level,
            name=learned.name,
            site=learned.site,
        )
        self._folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self._folder / _LOCK):
            append_line(self._folder / DECISIONS, decision.model_dump_json())
        return decision

    def latest(self) -> Mapping[str, Decision]:
        """Return the last decision about each item, by its key; lines that cannot be read are left out.

        Raises ``OSError`` if the disk refuses.
        """
        return {decision.key: decision for decision in self._read()}

    def rejected(self) -> frozenset[str]:
        """Return the keys of what is not to be used."""
        return frozenset(key for key, decision in self.latest().items() if decision.state is State.REJECTED)

    def _read(self) -> Iterator[Decision]:
        try:
            with (self._folder / DECISIONS).open("rb") as file:
                lines = file.read(_LARGEST).splitlines()
        except (FileNotFoundError, NotADirectoryError):
            return
        for line in lines:
            try:
                yield Decision.model_validate_json(line)
            except ValidationError:
                continue


class Rejected:
    """What people rejected, as those that learn ask; filled from the decisions of a crawl's folder."""

    def __init__(self) -> None:
        self._keys: frozenset[str] = frozenset()

    def take(self, keys: frozenset[str]) -> None:
        """Go by these from now on."""
        self._keys = keys

    def covers(self, learned: Learned) -> bool:
        """Return whether an item was rejected, under whatever name."""
        return bool(self._keys) and key_of(learned) in self._keys


def key_of(learned: Learned) -> str:
    """Return what tells a learned item from others: its place, its site and what it looks for, whatever its name."""
    if isinstance(learned, LearnedSign):
        content = json.dumps(learned.expression.attributes(), sort_keys=True).encode()
        action = ""
    else:
        content = etree.tostring(learned.xml(), method="c14n")
        action = learned.action
    place = "\n".join((learned.site, learned.application, learned.level, action))
    return sha256(place.encode("utf-8", "replace") + b"\n" + content).hexdigest()[:32]
