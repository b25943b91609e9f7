"""Pages made by hand."""

from datetime import UTC, datetime

from aahcrawler.page import Headers, Page

NOW = datetime(2022, 1, 15, 12, 0, tzinfo=UTC)

PARAGRAPH = (
    "The harbour froze in the second week of January, and for the first time in a generation people walked across "
    "it to the lighthouse. Nobody had measured the ice; everybody had an opinion about how thick it was. "
)


def page_of(
    body: str | bytes, content_type: str = "text/html; charset=utf-8", url: str = "http://site.test/news/ice"
) -> Page:
    raw = body.encode() if isinstance(body, str) else body
    fields = (("Content-Type", content_type),) if content_type else ()
    return Page(url, 200, Headers(fields), raw, NOW)
