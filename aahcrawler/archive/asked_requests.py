"""What was asked for in a request, as far as it tells answers of one URL apart: its method, and what it posted."""

import re
from dataclasses import dataclass
from email.parser import HeaderParser
from typing import Final, Self

from aahcrawler.archive.payload import HttpPayload
from aahcrawler.archive.surt import surt
from aahcrawler.posted_forms import posted_by
from aahcrawler.request_queries import LONGEST_BODY, addressed, form_query, query_of

_METHOD = re.compile(rb"([A-Za-z]{1,20})[ \t]")


@dataclass(frozen=True, slots=True)
class AskedRequest:
    """The method of a request, and what stands for its body in the URL under which its answer is looked up."""

    method: str = "GET"
    query: str = ""

    @classmethod
    def of(cls, head: bytes, body: bytes) -> Self:
        """Return what the head of a request and its payload ask for; ``body`` may end after ``LONGEST_BODY`` + 1."""
        found = _METHOD.match(head)
        method = found[1].decode("ascii").upper() if found else "GET"
        if method == "GET":
            return cls()
        fields = HeaderParser().parsestr(head.partition(b"\n")[2].decode("latin-1"))
        return cls(method, query_of(method, str(fields.get("Content-Type", "")), body))

    @classmethod
    def read(cls, request: bytes) -> Self:
        """Return what a request as it passed the connection asks for."""
        if request.startswith(b"GET "):
            return cls()
        message = HttpPayload()
        body = message.feed(request)
        return cls.of(message.beginning, body[: LONGEST_BODY + 1])

    def url(self, target: str) -> str:
        """Return the URL under which the answer is known to the crawl: its own where a GET or a form's."""
        return target if posted_by(target) is not None else addressed(target, self.method, self.query)


GOT: Final = AskedRequest()
"""What is asked for by GET."""


def key_of_url(url: str, asked: AskedRequest | None = None) -> str:
    """Return the key under which the index has the answers of a URL to what was asked for, or to a GET.

    The pages of forms have the keys that their URLs tell.

    >>> key_of_url("http://a.test/s?f=1&__wb_method=POST&q=a+b")
    'test,a)/s?__wb_method=post&f=1&q=a%20b'
    """
    form = posted_by(url)
    if form is not None:
        return surt(addressed(form.target, "POST", form_query(form.body)))
    return surt(url if asked is None else asked.url(url))
