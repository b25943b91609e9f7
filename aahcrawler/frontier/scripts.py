"""The Lua scripts that make each operation one atomic round trip."""

from functools import cache
from importlib.resources import files

from redis import Redis
from redis.commands.core import Script

_PARTS = {
    "offer": ("state", "offers", "offer"),
    "lease": ("state", "leases", "lease"),
    "finish": ("state", "leases", "offers", "finish"),
    "retry": ("state", "leases", "retry"),
    "release": ("state", "leases", "release"),
    "renew": ("state", "leases", "renew"),
    "recover": ("state", "leases", "recover"),
    "next_ready": ("state", "next_ready"),
    "post": ("state", "offers", "post"),
}


@cache
def source(name: str) -> str:
    """Return the text of one script, the parts it builds upon included."""
    folder = files("aahcrawler.frontier") / "lua"
    return "\n".join((folder / f"{part}.lua").read_text(encoding="utf-8") for part in _PARTS[name])


def load(client: Redis) -> dict[str, Script]:
    """Return every script by name. They are called by their hash and sent again to a server that forgot them."""
    return {name: client.register_script(source(name)) for name in _PARTS}
