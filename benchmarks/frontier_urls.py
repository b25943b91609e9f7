"""Makes up the URLs of a crawl: pages of many pay-level domains and the links on them. Imports nothing else.

A page has ``LINKS`` links, ``OWN`` of them to its own pay-level domain and the others anywhere. There is one domain for
each ``PER_DOMAIN`` URLs; they differ in size as the squares of evenly spread numbers do: of 10,000 domains the largest
has one in a hundred of all URLs, and a quarter has half of them. URLs have 70 characters on average, words of a made-up
vocabulary and numbers, in the forms that forums, blogs, shops and wikis use. No URL comes twice.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

LINKS = 100
OWN = 70
PER_DOMAIN = 100

_SYLLABLES = ("ba", "co", "den", "el", "for", "gu", "ha", "in", "ka", "lo", "mi", "ner", "or", "pa", "ri", "sto", "tu")
_TOP = ("com", "org", "net", "de", "fr", "it", "co.uk", "info")
_FORMS = (
    "{scheme}://www.{domain}/{a}/{year}/{month:02}/{b}-{c}-{d}-{e}-{number}/",
    "{scheme}://{domain}/forum/{a}-{b}/showthread.php?t={number}&page={month}&s={c}",
    "{scheme}://{domain}/{a}/{b}-{c}/{d}-{e}-{f}-{a}-{number}.html",
    "{scheme}://{c}.{domain}/index.php?title={a}_{b}_{d}&oldid={number}",
    "{scheme}://www.{domain}/{a}/products/{c}-{d}-{e}?id={number}&ref={f}",
)


@dataclass(frozen=True, slots=True)
class Link:
    """A URL, its pay-level domain, and a score between 0 and 1."""

    url: str
    domain: str
    score: float


@dataclass(frozen=True, slots=True)
class LinkingPage:
    """A page's URL and all its links."""

    url: str
    links: tuple[Link, ...]


def pages(urls: int) -> Iterator[LinkingPage]:
    """Yield pages that have so many links together; the same ones for the same number."""
    chance = random.Random(urls)
    words = ["".join(chance.choices(_SYLLABLES, k=chance.randint(1, 3))) for _ in range(5000)]
    domains = [_domain(number, words, chance) for number in range(max(1, urls // PER_DOMAIN))]
    for start in range(0, urls, LINKS):
        own = _any(domains, chance)
        numbers = range(start, min(start + LINKS, urls))
        places = [own if number - start < OWN else _any(domains, chance) for number in numbers]
        links = tuple(
            Link(_url(place, number, words, chance), place[0], round(chance.random(), 3))
            for number, place in zip(numbers, places, strict=True)
        )
        yield LinkingPage(_url(own, start, words, chance), links)


_Domain = tuple[str, str, str]
"""The name, the scheme and the form of all its URLs."""


def _domain(number: int, words: list[str], chance: random.Random) -> _Domain:
    name = f"{chance.choice(words)}{number}.{chance.choice(_TOP)}"
    return name, chance.choice(("http", "https", "https")), chance.choice(_FORMS)


def _any(domains: list[_Domain], chance: random.Random) -> _Domain:
    return domains[int(len(domains) * chance.random() ** 2)]


def _url(place: _Domain, number: int, words: list[str], chance: random.Random) -> str:
    domain, scheme, form = place
    a, b, c, d, e, f = chance.choices(words, k=6)
    year, month = chance.randint(2005, 2025), chance.randint(1, 12)
    return form.format(
        scheme=scheme, domain=domain, a=a, b=b, c=c, d=d, e=e, f=f, year=year, month=month, number=number
    )
