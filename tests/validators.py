"""Services share what FastAPI computes of parameters and responses, which is half of what it takes to make one."""

from typing import Any

from fastapi._compat import v2
from pydantic import ConfigDict, TypeAdapter

_known: dict[tuple[object, str, str], TypeAdapter[Any]] = {}


def _adapter(annotated: Any, *, config: ConfigDict | None = None) -> TypeAdapter[Any]:
    key = annotated.__origin__, repr(annotated.__metadata__), repr(config)
    if key not in _known:
        _known[key] = TypeAdapter(annotated, config=config)
    return _known[key]


def validate_alike() -> None:
    """Have parameters and responses of one type and description validated by one adapter from now on."""
    vars(v2)["TypeAdapter"] = _adapter
