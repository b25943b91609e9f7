"""The state that the crawls of one frontier server share: the times of queues, and the connections in use."""

from collections.abc import Callable
from dataclasses import dataclass, field

Slot = tuple[str, str, int]
"""A connection that is out: its queue, its crawl, and the number of the batch that uses it."""


@dataclass(slots=True)
class QueueSlots:
    """Keeps delays and connections by queue. ``clock`` gives seconds; times are its times."""

    clock: Callable[[], float]
    _opens: dict[str, float] = field(default_factory=dict)
    _usual: dict[str, float] = field(default_factory=dict)
    _learned: dict[str, float] = field(default_factory=dict)
    _workers: dict[str, str] = field(default_factory=dict)
    _out: dict[str, dict[Slot, float]] = field(default_factory=dict)

    def rest(self, queue: str, delay: float) -> None:
        """Keep a queue closed for ``delay`` seconds at least; a longer rest stays."""
        if delay > 0:
            self._opens[queue] = max(self._opens.get(queue, 0.0), self.clock() + delay)

    def remember(self, queue: str, delay: float) -> None:
        """Make a delay the queue's usual one."""
        if delay or queue in self._usual:
            self._usual[queue] = delay

    def learn(self, queue: str, learned: float | None) -> None:
        """Store the delay of a queue; None leaves the stored one."""
        if learned is not None:
            self._learned[queue] = learned

    def learned(self, queue: str) -> float:
        """Return the stored delay of a queue."""
        return self._learned.get(queue, 0.0)

    def rest_as_usual(self, queue: str) -> None:
        """Keep a queue closed for its usual delay."""
        self.rest(queue, self._usual.get(queue, 0.0))

    def take(self, slot: Slot, until: float, worker: str) -> None:
        """Note that a connection of a worker is out until it is given back, or lost at a moment."""
        self._out.setdefault(slot[0], {})[slot] = until
        self._workers[slot[0]] = worker

    def give_back(self, slot: Slot) -> None:
        """Note that a connection is free again."""
        if slot in self._out.get(slot[0], {}):
            del self._out[slot[0]][slot]
            if not self._out[slot[0]]:
                del self._out[slot[0]]
                del self._workers[slot[0]]

    def renew(self, slot: Slot, until: float) -> None:
        """Let a connection that is out be lost later."""
        if slot in self._out.get(slot[0], {}):
            self._out[slot[0]][slot] = until

    def take_back_lost(self) -> None:
        """Free the connections that were lost; their queues rest as usual."""
        now = self.clock()
        for slot in [slot for out in self._out.values() for slot, until in out.items() if until <= now]:
            self.rest_as_usual(slot[0])
            self.give_back(slot)

    def wait(self, queue: str, connections: int) -> float | None:
        """Return in how many seconds a queue opens (0: it is open), None while all its connections are out."""
        if len(self._out.get(queue, ())) >= connections:
            return None
        return max(0.0, self._opens[queue] - self.clock()) if queue in self._opens else 0.0

    def is_anothers(self, queue: str, worker: str) -> bool:
        """Return whether another worker has connections to a queue in use."""
        return self._workers.get(queue, worker) != worker

    def first_loss(self) -> float:
        """Return in how many seconds the first connection that is out is lost. Some must be out."""
        return max(0.0, min(until for out in self._out.values() for until in out.values()) - self.clock())
