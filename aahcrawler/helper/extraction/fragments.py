"""Make the fragments of objects' URLs: the numbers that their page gives them, else author and date."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from urllib.parse import quote

from lxml.html import HtmlElement

from aahcrawler.page import text
from aahcrawler.webobject import Person, Reference, Value
from knowledge_base.element_index import Elements
from knowledge_base.model import Identity
from knowledge_base.selectors import Selector

COMPOSED = "c-"
"""The prefix of a composed fragment, unless the knowledge base names another one."""

_MAX_VALUE_LENGTH = 100
_DIGEST_BYTES = 6


def found_identity(
    identity: Identity, selectors: Iterable[Selector], item: HtmlElement, elements: Elements | None = None
) -> str | None:
    """Return the fragment that an object's element gives it by some of the expressions, None if it gives none.

    ``elements`` are those of the page, if known.
    """
    for selector in selectors:
        for node in selector.nodes(item, elements)[:1]:
            fragment = identity.fragment(node if isinstance(node, str) else text.fold(text.plain_text(node)))
            if fragment is not None:
                return fragment
    return None


class Composed:
    """Makes fragments of the values of fields, different ones for the objects of one page.

    Another object of the same author and second gets ``-2`` behind its fragment, the next ``-3``: the order of
    objects on a page counts, and only there.
    """

    def __init__(self) -> None:
        self._times: Counter[str] = Counter()

    def fragment(self, identity: Identity, properties: Mapping[str, Sequence[Value]]) -> str | None:
        """Return the fragment made of the first value of each field; None if no field has one."""
        values = [values[0] for name in identity.fields if (values := properties.get(name))]
        if not values:
            return None
        fragment = (identity.prefix or COMPOSED) + "-".join(map(fragment_text, values))
        self._times[fragment] += 1
        return fragment if self._times[fragment] == 1 else f"{fragment}-{self._times[fragment]}"


def fragment_text(value: Value) -> str:
    """Return a value as a part of a fragment: a person's name, the digits of a time in UTC, white space as ``_``.

    A long text is cut, and told from others that begin like it by a digest of it all.

    >>> written(Person("Ada L. & co")), written(datetime(2024, 5, 1, 9, 30, tzinfo=UTC))
    ('Ada_L._%26_co', '20240501093000')
    """
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y%m%d%H%M%S")
    shown = value.name if isinstance(value, Person) else value.url if isinstance(value, Reference) else str(value)
    joined = "_".join(shown.split())
    if len(joined) > _MAX_VALUE_LENGTH:
        digest = hashlib.blake2b(joined.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).hexdigest()
        joined = f"{joined[: _MAX_VALUE_LENGTH - len(digest) - 1]}-{digest}"
    return quote(joined, safe="")
