"""The formats of query results, in a module without their writers, so that the command line loads fast."""

from enum import StrEnum


class ResultFormat(StrEnum):
    """The formats of query results."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    TTL = "ttl"
