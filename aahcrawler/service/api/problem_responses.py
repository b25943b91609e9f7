"""Problems in the OpenAPI description of a route."""

from functools import cache
from typing import Any

from aahcrawler.service.web.problems import MEDIA_TYPE, Kind, ProblemDetails


def problem_responses(*kinds: Kind) -> dict[int | str, dict[str, Any]]:
    """Return the descriptions of answers with problems, by their status; kinds of one status share one."""
    described: dict[int | str, dict[str, Any]] = {}
    content = {MEDIA_TYPE: {"schema": _schema()}}
    for kind in kinds:
        former = described.get(int(kind.status))
        title = kind.title if former is None else f"{former['description']}; {kind.title}"
        described[int(kind.status)] = {"description": title, "content": content}
    return described


@cache
def _schema() -> Any:
    """Return the schema of a problem in one piece: what it refers to would be looked for in the whole document."""
    schema = ProblemDetails.model_json_schema()
    parts = schema.pop("$defs", {})

    def whole(value: Any) -> Any:
        if isinstance(value, dict) and "$ref" in value:
            return whole(parts[str(value["$ref"]).rpartition("/")[2]])
        if isinstance(value, dict):
            return {name: whole(inner) for name, inner in value.items()}
        return [whole(inner) for inner in value] if isinstance(value, list) else value

    return whole(schema)
