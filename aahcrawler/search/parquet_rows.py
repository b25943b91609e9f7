"""Results as an Apache Parquet table; needs the extra ``parquet``, whose absence the importer must report."""

import io
from collections.abc import Iterable
from dataclasses import asdict
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from aahcrawler.search.result_rows import ResultRow

_TYPES: Final = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), float | None: pa.float64(), float: pa.float64()}
SCHEMA: Final = pa.schema([(name, _TYPES[kind]) for name, kind in ResultRow.__annotations__.items()])
"""The columns: those of ``ResultRow``, with times as it writes them."""


def parquet(rows: Iterable[ResultRow]) -> bytes:
    """Return a file with a row for each result, in their order."""
    table = pa.Table.from_pylist([asdict(row) for row in rows], SCHEMA)
    made = io.BytesIO()
    pq.write_table(table, made, compression="zstd")
    return made.getvalue()
