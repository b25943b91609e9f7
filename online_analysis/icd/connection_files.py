"""Places the files that ``network`` names: certificates, keys and secrets stay on the machine where they are."""

from collections.abc import Iterator
from pathlib import Path

from online_analysis.icd.connections import FILE_FIELDS
from online_analysis.icd.yaml_source import Value

_SECRETS = ("password", "client_passphrase")


def place_connection_files(data: dict[str, Value], folder: Path) -> None:
    """Put the whole path in place of each file's name, which counts from ``folder``."""
    network = data.get("network")
    if not isinstance(network, dict):
        return
    for section, name in (*_named(network), *_of_hosts(network.get("hosts"))):
        section[name] = str((folder / Path(str(section[name]).strip()).expanduser()).absolute())


def _of_hosts(hosts: Value) -> Iterator[tuple[dict[str, Value], str]]:
    for host in hosts.values() if isinstance(hosts, dict) else ():
        if isinstance(host, dict):
            yield from ((host, name) for name in FILE_FIELDS if _is_text(host.get(name)))
            yield from _named(host)


def _named(section: dict[str, Value]) -> Iterator[tuple[dict[str, Value], str]]:
    """Yield the secrets of a section and of its proxy."""
    for part in (section, section.get("proxy")):
        for name in _SECRETS if isinstance(part, dict) else ():
            secret = part.get(name) if isinstance(part, dict) else None
            if isinstance(secret, dict) and _is_text(secret.get("file")):
                yield secret, "file"


def _is_text(value: Value) -> bool:
    return isinstance(value, str) and bool(value.strip())
