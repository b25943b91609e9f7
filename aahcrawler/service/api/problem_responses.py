"""Problems in the OpenAPI document: those of a route, and their schema."""

from typing import Any, Final

from fastapi import FastAPI

from aahcrawler.service.web.problems import MEDIA_TYPE, Kind, ProblemDetails

_REFERENCE: Final = "#/components/schemas/{model}"
_CONTENT: Final = {MEDIA_TYPE: {"schema": {"$ref": _REFERENCE.format(model=ProblemDetails.__name__)}}}
_NEVER_SENT: Final = ("HTTPValidationError", "ValidationError")


def problem_responses(*kinds: Kind) -> dict[int | str, dict[str, Any]]:
    """Return the descriptions of answers with problems, by their status; kinds of one status share one."""
    described: dict[int | str, dict[str, Any]] = {}
    for kind in kinds:
        former = described.get(int(kind.status))
        title = kind.title if former is None else f"{former['description']}; {kind.title}"
        described[int(kind.status)] = {"description": title, "content": _CONTENT}
    return described


class DescribedApp(FastAPI):
    """An application that answers with problems, and whose OpenAPI document says so."""

    def openapi(self) -> dict[str, Any]:
        """Return the document: with the schema of problems, without that of errors as FastAPI would send them."""
        if self.openapi_schema is None:
            document = super().openapi()
            for operation in (each for path in document["paths"].values() for each in path.values()):
                if "application/json" in operation["responses"].get("422", {}).get("content", {}):
                    del operation["responses"]["422"]
            schemas = document["components"]["schemas"]
            for name in _NEVER_SENT:
                schemas.pop(name, None)
            problem = ProblemDetails.model_json_schema(ref_template=_REFERENCE)
            schemas.update(problem.pop("$defs", {}), **{ProblemDetails.__name__: problem})
            self.openapi_schema = document
        return self.openapi_schema
