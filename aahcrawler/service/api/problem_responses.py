"""Problems in the OpenAPI description of a route."""

from typing import Any

from aahcrawler.service.web.problems import MEDIA_TYPE, Kind, ProblemDetails


def problem_responses(*kinds: Kind) -> dict[int | str, dict[str, Any]]:
    """Return the descriptions of answers with problems, by their status; kinds of one status share one."""
    described: dict[int | str, dict[str, Any]] = {}
    content = {MEDIA_TYPE: {"schema": ProblemDetails.model_json_schema()}}
    for kind in kinds:
        former = described.get(int(kind.status))
        title = kind.title if former is None else f"{former['description']}; {kind.title}"
        described[int(kind.status)] = {"description": title, "content": content}
    return described
