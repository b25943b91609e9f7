"""The frontier of a crawl that an operator names, by its folder or, on a shared server, by its id."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from aahcrawler.crawls import frontier_name, frontier_settings
from aahcrawler.definition_bundle import unpacked
from aahcrawler.definitions import read_definition
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.frontier.redis.registry import RedisRegistry
from aahcrawler.frontier.server.binary import REDIS_URL
from aahcrawler.frontiers import NoCrawlError, crawl_of, server_of
from aahcrawler.layout import DEFINITION
from online_analysis.icd import Icd


@contextmanager
def control_of(crawl: str, *, alone: bool = False) -> Iterator[RedisControl]:
    """Lend the frontier of a crawl: ``crawl`` is its folder, or the id of one that a shared server knows.

    With ``alone`` the crawl must not run in its folder, and is kept from that meanwhile. Raise ``NoCrawlError`` where
    it is neither, ``DefinitionError`` where its definition cannot be read back, and ``FrontierUnavailableError`` where
    its server cannot be reached, or the crawl runs.
    """
    folder, shared = Path(crawl), os.environ.get(REDIS_URL)
    if (folder / DEFINITION).is_file():
        found, icd = crawl_of(folder), read_definition(folder / DEFINITION)
        with server_of(folder, alone=alone) as address, _control(address, icd, found.number) as control:
            yield control
    elif shared:
        with _control(shared, *_registered(shared, crawl)) as control:
            yield control
    else:
        raise NoCrawlError(
            f"{crawl}: holds no crawl; name the folder that the definition calls output, or set {REDIS_URL} and name "
            "the id of a crawl that was submitted there"
        )


@contextmanager
def _control(address: str, icd: Icd, number: int) -> Iterator[RedisControl]:
    with closing(RedisControl(address, frontier_name(icd.id, number), frontier_settings(icd))) as control:
        yield control


def _registered(server: str, crawl: str) -> tuple[Icd, int]:
    registry = RedisRegistry(server)
    number = next((each.number for each in registry.crawls() if each.id == crawl), None)
    if number is None:
        raise NoCrawlError(f"{crawl}: is neither the folder of a crawl nor the id of one that {REDIS_URL} knows")
    return unpacked(registry.definition(crawl)[1], Path(crawl)), number
