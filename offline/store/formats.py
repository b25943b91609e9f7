"""The formats of answers, apart from their writers: the command line has to know them at once."""

from enum import StrEnum


class ResultFormat(StrEnum):
    """Formats of answers."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    TTL = "ttl"
