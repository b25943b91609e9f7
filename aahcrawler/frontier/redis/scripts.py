"""The Lua scripts that make each operation one atomic round trip."""

from functools import cache
from importlib.resources import files

from redis import Redis
from redis.commands.core import Script

_STATE = ("state", "clock", "records", "politeness", "order", "queues")
_PARTS = {
    "offer": (*_STATE, "offers", "offer"),
    "rescore": (*_STATE, "rescore"),
    "lease": (*_STATE, "held", "leases", "lease"),
    "finish": (*_STATE, "leases", "offers", "finish"),
    "retry": (*_STATE, "leases", "retry"),
    "release": (*_STATE, "leases", "release"),
    "renew": (*_STATE, "leases", "renew"),
    "remember": (*_STATE, "leases", "remember"),
    "recover": (*_STATE, "leases", "recover"),
    "place": (*_STATE, "place"),
    "next_ready": (*_STATE, "held", "next_ready"),
    "post": (*_STATE, "held", "offers", "post"),
    "block": (*_STATE, "held", "leases", "block"),
    "unblock": (*_STATE, "held", "unblock"),
    "again": (*_STATE, "held", "again"),
    "restore": (*_STATE, "held", "restore"),
    "restore_queues": (*_STATE, "restore_queues"),
    "pause_queue": (*_STATE, "pause_queue"),
    "counts": ("state", "counts"),
    "known": ("state", "records", "known"),
    "best": (*_STATE, "best"),
    "walk": (*_STATE, "walk"),
    "buckets": ("state", "buckets"),
    "queue_records": ("state", "queue_records"),
    "ahead": (*_STATE, "ahead"),
    "standings": ("state", "clock", "politeness", "standings"),
    "claim": ("claim",),
    "unclaim": ("unclaim",),
    "reclaim": ("reclaim",),
}


@cache
def source(name: str) -> str:
    """Return the text of one script, the parts it builds upon included."""
    folder = files("aahcrawler.frontier.redis") / "lua"
    return "\n".join((folder / f"{part}.lua").read_text(encoding="utf-8") for part in _PARTS[name])


def load(client: Redis) -> dict[str, Script]:
    """Return every script by name. They are called by their hash and sent again to a server that forgot them."""
    return {name: client.register_script(source(name)) for name in _PARTS}
