"""The URLs of pages that a form gives which is sent with method post: what it sends stands in their query.

They are written as pywb and other replay software look such pages up: ``/search?__wb_method=POST&q=flood`` is what
``/search`` answers when ``q=flood`` is posted to it. Such a URL is made by a form alone; one that a page, a list or
anybody else names is not to be asked for, since whoever names it would choose what is posted.
"""

from typing import Final, NamedTuple

from aahcrawler.request_queries import addressed

HOP: Final = "P"
"""The letter of the hop from a form to the page that it gives (``aahcrawler.frontier.hops``)."""

ENCODING: Final = "application/x-www-form-urlencoded"
"""The media type of what is posted, that of a form that names none."""

_MARK: Final = "__wb_method=POST"
_NAME: Final = "__wb_method="


class PostedForm(NamedTuple):
    """The URL that a form is sent to, and the body that it sends (`ENCODING`)."""

    target: str
    body: str


def url_of(form: PostedForm) -> str:
    """Return the URL of the page that a form gives.

    >>> url_of(PostedForm("http://a.test/search.php?f=1", "q=flood"))
    'http://a.test/search.php?f=1&__wb_method=POST&q=flood'
    """
    return addressed(form.target, "POST", form.body)


def posted_by(url: str) -> PostedForm | None:
    """Return what is sent to get a page, None where its URL is not of a form.

    >>> posted_by("http://a.test/search.php?f=1&__wb_method=POST&q=flood")
    PostedForm(target='http://a.test/search.php?f=1', body='q=flood')
    """
    before, mark, body = url.partition(f"{_MARK}&")
    return PostedForm(before[:-1], body) if mark and before[-1:] in {"?", "&"} else None


def is_reserved(url: str) -> bool:
    """Return whether a URL has the parameter that only forms may write.

    >>> is_reserved("/x?a=1&__wb_method=PUT"), is_reserved("/x?a__wb_method=1")
    (True, False)
    """
    return _NAME in url and (f"?{_NAME}" in url or f"&{_NAME}" in url)
