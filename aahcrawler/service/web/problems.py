"""Errors as problem details (RFC 9457): the fault, and the remedy."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.routing import Match

from aahcrawler.service.web.noted_acts import note_said
from online_analysis.icd.explanations import in_words

MEDIA_TYPE = "application/problem+json"
_METHODS = "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"
_logger = logging.getLogger(__name__)


class Shown(BaseModel):
    """A value that the service shows, and that nobody changes."""

    model_config = ConfigDict(frozen=True)


class MistakeView(Shown):
    """A mistake in a definition: where it is (``line`` counts from 1), what is wrong, and what to write instead.

    ``field`` is empty where the whole text is meant.
    """

    line: int
    field: str
    problem: str
    advice: str


class ProblemDetails(BaseModel):
    """A problem as it is sent. ``applied``: the number of the request's items that took effect all the same.

    ``mistakes`` are those of a definition, ``lines`` what a command said that did not do what it was to.
    """

    type: str
    title: str
    status: int
    detail: str
    applied: int | None = None
    mistakes: tuple[MistakeView, ...] | None = None
    lines: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem: the last part of its type, its status and its title."""

    name: str
    status: HTTPStatus
    title: str


BAD_REQUEST = Kind("invalid-request", HTTPStatus.BAD_REQUEST, "Invalid request")
UNAUTHORISED = Kind("unauthorised", HTTPStatus.UNAUTHORIZED, "No valid token")
FORBIDDEN = Kind("forbidden", HTTPStatus.FORBIDDEN, "Not allowed")
CROSS_ORIGIN = Kind("cross-origin", HTTPStatus.FORBIDDEN, "Sent by a page of another site")
STALE_FORM = Kind("stale-form", HTTPStatus.FORBIDDEN, "This form is not good any more")
TOO_MANY = Kind("too-many-requests", HTTPStatus.TOO_MANY_REQUESTS, "Too many requests")
MISDIRECTED = Kind("misdirected", HTTPStatus.MISDIRECTED_REQUEST, "Not this host")
NO_CRAWL = Kind("no-such-crawl", HTTPStatus.NOT_FOUND, "No such crawl")
NO_URL = Kind("unknown-url", HTTPStatus.NOT_FOUND, "Unknown URL")
BAD_URL = Kind("invalid-url", HTTPStatus.UNPROCESSABLE_ENTITY, "No URL that can be crawled")
BAD_SEARCH = Kind("invalid-search", HTTPStatus.BAD_REQUEST, "Nothing that can be looked for")
NO_SITE = Kind("unknown-site", HTTPStatus.NOT_FOUND, "Unknown site")
TOO_MANY_STREAMS = Kind("too-many-streams", HTTPStatus.SERVICE_UNAVAILABLE, "Too many streams")
DAMAGED = Kind("damaged", HTTPStatus.CONFLICT, "Damaged files")
BAD_JSON = Kind("invalid-json", HTTPStatus.BAD_REQUEST, "No valid JSON")
BAD_TYPE = Kind("unsupported-media-type", HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Neither JSON nor NDJSON")
TOO_LARGE = Kind("too-large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Too much in one request")
TOO_SLOW = Kind("too-slow", HTTPStatus.REQUEST_TIMEOUT, "The request did not arrive in time")
NOT_RUNNING = Kind("crawl-not-running", HTTPStatus.SERVICE_UNAVAILABLE, "The crawl is not running")
OVER = Kind("crawl-over", HTTPStatus.CONFLICT, "The crawl is over")
UNAVAILABLE = Kind("frontier-unavailable", HTTPStatus.SERVICE_UNAVAILABLE, "The frontier cannot be reached")
ENTRANCE = BAD_REQUEST, UNAUTHORISED, FORBIDDEN, TOO_SLOW, TOO_LARGE, BAD_TYPE, MISDIRECTED, TOO_MANY
"""The problems that a request for any route may meet before it gets there."""
BAD_SITE = Kind("invalid-site", HTTPStatus.UNPROCESSABLE_ENTITY, "No site")
BAD_RULE = Kind("invalid-rule", HTTPStatus.UNPROCESSABLE_ENTITY, "No rule that names URLs")
BAD_DEFINITION = Kind("invalid-definition", HTTPStatus.UNPROCESSABLE_ENTITY, "The definition has mistakes")
NO_COLLECTION = Kind("no-such-collection", HTTPStatus.NOT_FOUND, "No such collection")
NO_SPECIFICATION = Kind("no-such-specification", HTTPStatus.NOT_FOUND, "No such specification")
BAD_COLLECTION = Kind("invalid-collection", HTTPStatus.UNPROCESSABLE_ENTITY, "The collection cannot be so")
NO_SAMPLE = Kind("no-such-sample", HTTPStatus.NOT_FOUND, "No such sample")
NO_RULE = Kind("no-such-rule", HTTPStatus.NOT_FOUND, "No such rule")
NO_WORK = Kind("no-such-work", HTTPStatus.NOT_FOUND, "No such work")
NO_SCHEDULE = Kind("no-schedule", HTTPStatus.NOT_FOUND, "No schedule")
NO_ENTRY = Kind("no-such-scheduled-crawl", HTTPStatus.NOT_FOUND, "No such crawl in the schedule")
NO_JOB = Kind("no-such-job", HTTPStatus.NOT_FOUND, "No such job")
CONFLICT = Kind("conflict", HTTPStatus.CONFLICT, "Not as things stand")
BUSY = Kind("busy", HTTPStatus.SERVICE_UNAVAILABLE, "Too much is under way")
NOT_STARTED = Kind("not-started", HTTPStatus.UNPROCESSABLE_ENTITY, "The crawl did not start")
NOT_NOTED = Kind("not-noted", HTTPStatus.SERVICE_UNAVAILABLE, "What is done here cannot be noted")
INTERNAL = Kind("internal-error", HTTPStatus.INTERNAL_SERVER_ERROR, "A defect of the service")


@dataclass(slots=True)
class ProblemError(Exception):
    """A request that cannot be answered as it was meant."""

    kind: Kind
    detail: str
    applied: int | None = None
    mistakes: tuple[MistakeView, ...] | None = None
    lines: tuple[str, ...] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def as_response(problem: ProblemError) -> JSONResponse:
    """Return a problem as a response, which the log of the service tells as well."""
    note_said(problem.detail, refused=True)
    kind = problem.kind
    details = ProblemDetails(
        type=f"urn:aahcrawler:problem:{kind.name}",
        title=kind.title,
        status=kind.status,
        detail=problem.detail,
        applied=problem.applied,
        mistakes=problem.mistakes,
        lines=problem.lines,
    )
    content = details.model_dump(mode="json", exclude_none=True)
    return JSONResponse(content, kind.status, headers=dict(problem.headers), media_type=MEDIA_TYPE)


def _allowed(request: Request) -> list[str]:
    """Return the methods that a path may be asked with. Each of them may be of another route."""
    return [
        method
        for method in _METHODS
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in request.app.routes)
    ]


def install(app: FastAPI) -> None:
    """Have the application answer with problem details whatever goes wrong."""

    def told(_request: Request, error: Exception) -> JSONResponse:
        if isinstance(error, ProblemError):
            return as_response(error)
        _logger.error("a request failed", exc_info=error)
        return as_response(ProblemError(INTERNAL, "the service's log says more; the same request may be made again"))

    def refused(request: Request, error: Exception) -> JSONResponse:
        if isinstance(error, RequestValidationError):
            return as_response(ProblemError(BAD_REQUEST, in_words(error.errors()[0])))
        status = HTTPStatus(error.status_code) if isinstance(error, HTTPException) else INTERNAL.status
        headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = ", ".join(_allowed(request))
        kind = Kind(status.phrase.lower().replace(" ", "-"), status, status.phrase)
        return as_response(ProblemError(kind, "see /docs for the possible requests", headers=headers))

    app.add_exception_handler(ProblemError, told)
    app.add_exception_handler(RequestValidationError, refused)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(Exception, told)


_REFERENCE: Final = "#/components/schemas/{model}"
_CONTENT: Final = {MEDIA_TYPE: {"schema": {"$ref": _REFERENCE.format(model=ProblemDetails.__name__)}}}
_NEVER_SENT: Final = ("HTTPValidationError", "ValidationError")


def problem_responses(*kinds: Kind) -> dict[int | str, dict[str, Any]]:
    """Return the descriptions of responses with problems, by their status; kinds of one status share one."""
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
