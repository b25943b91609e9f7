"""The conversation of a board, before any forum software prints it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from examples.rendering.content import Board, Topic
from examples.rendering.prose import Body, Prose, digest, pick

REPLY_EVERY = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class Message:
    """A post of a thread; ``user`` is the number of its author, counted from 2 as boards do (1 is the guest)."""

    id: int
    user: int
    author: str
    date: datetime
    title: str
    body: Body
    image: str | None = None


@dataclass(frozen=True, slots=True)
class Thread:
    """A topic with its messages in order."""

    id: int
    topic: Topic
    messages: tuple[Message, ...]
    on_topic: bool

    def chunks(self, size: int) -> tuple[tuple[Message, ...], ...]:
        """Return the messages of each page of the thread."""
        return tuple(self.messages[start : start + size] for start in range(0, len(self.messages), size))


def threads(board: Board, prose: Prose, reply_prefix: str) -> tuple[Thread, ...]:
    """Return all threads with their messages, numbered through the board in the order of the content."""
    result: list[Thread] = []
    first = 1
    for number, topic in enumerate(board.topics, start=1):
        messages = tuple(_message(board, topic, prose, first + turn, turn, reply_prefix) for turn in range(topic.posts))
        result.append(Thread(number, topic, messages, prose.on_topic(topic.themes)))
        first += topic.posts
    return tuple(result)


def of_forum(all_threads: Sequence[Thread], forum: int) -> list[Thread]:
    """Return the threads of one forum, the last answered first, as boards list them."""
    own = [thread for thread in all_threads if thread.topic.forum == forum]
    return sorted(own, key=lambda thread: thread.messages[-1].date, reverse=True)


def _message(board: Board, topic: Topic, prose: Prose, number: int, turn: int, reply_prefix: str) -> Message:
    key = f"{board.host}/{topic.title}/{turn}"
    opening = topic.open if turn == 0 else prose.opener(topic.language, topic.title, turn)
    themes = topic.themes if turn % 2 == 0 else tuple(reversed(topic.themes))
    body = prose.compose(opening, themes, 4 + digest(key, "length") % 5, key)
    if turn in topic.add:
        body = (*body, topic.add[turn])
    user = digest(board.host, topic.title, "user") + turn * (1 + digest(topic.title) % 3)
    name = board.users[user % len(board.users)]
    return Message(
        id=number,
        user=2 + user % len(board.users),
        author=name,
        date=_posted(topic, turn, key),
        title=topic.title if turn == 0 else f"{reply_prefix}{topic.title}",
        body=body,
        image=pick(("flood-1", "flood-2", "flood-3"), key, "image") if topic.image and turn % 3 == 0 else None,
    )


def _posted(topic: Topic, turn: int, key: str) -> datetime:
    """Return when a message was written: each later than the one before it."""
    late = timedelta(minutes=digest(key, "minutes") % (REPLY_EVERY // timedelta(minutes=1)))
    return topic.start + turn * REPLY_EVERY + late if turn else topic.start
