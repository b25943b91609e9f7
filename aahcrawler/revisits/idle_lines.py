"""Recognise lines that differ between two captures only by what the visits themselves left there.

Digits that differ on every visit may be the matter of a page: a price, the level of a river, the votes of an election.
What they count decides, not how often they differ: a line is idle if it counts visits in so many words, if it tells the
time of the request, as the server's clock had it at both captures, or if a token in it differs.
"""

import re
from datetime import date, datetime
from typing import Final

NUMBER: Final = re.compile(r"\d+(?:[.,:/'\u00a0\u202f-]?\d+)*")
TOKEN: Final = re.compile(r"\b(?=[a-zA-Z]*\d)(?=\d*[a-zA-Z])[0-9a-zA-Z]{12,}\b")
_ADVERT: Final = re.compile(r"\.(?:ads?|adverts?|advertis\w+|adsense|adsbygoogle|sponsor\w*)(?![\w-])", re.IGNORECASE)
_MAX_LINE: Final = 200
"""A longer line is a paragraph, whose numbers are matter."""
_CLOCK: Final = re.compile(r"(?<![\d:])(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?(?![\d:])")
_DAY: Final = re.compile(r"(?<!\d)(?:(\d{4})-(\d\d?)-(\d\d?)|(\d\d?)([./-])(\d\d?)\5(\d{4}))(?!\d)")
_QUARTER: Final = 900
_HALF_DAY: Final = 48
"""Zones of time lie a multiple of so many seconds apart; so many of these make the twelve hours of a clock."""
_FARTHEST_ZONE: Final = 56
_SLACK: Final = 60
"""The seconds that a page may have been made before its answer or after it."""
_VISITS: Final = re.compile(
    r"\b(?:visitors?|visits?|(?:page ?)?views|besucher(?:zahl|in|innen|zähler)?|besuche|(?:seiten)?zugriffe|"
    r"(?:seiten)?aufrufe|visiteurs?|visites?|vues|visitas?|visitantes?|visitator[ei]|visite|visualizzazioni|acessos|"
    r"bezoekers?|bezoeken|weergaven|besökare|besøgende|besøkende|visningar|visninger|návštěv(?:y|níků|ník)?|"
    r"odwiedzin(?:y)?|wizyt|посетител(?:ь|и|ей)|просмотр(?:ы|ов)|посещени(?:я|й))\b",
    re.IGNORECASE,
)


def is_advert(path: str) -> bool:
    """Return whether the path of an element (``aahcrawler.page.text.TagPaths``) names an advertisement.

    >>> is_advert("html/body/main/p.ad"), is_advert("html/body/div.advertisement/p"), is_advert("html/body/p.address")
    (True, True, False)
    """
    return _ADVERT.search(path) is not None


def is_idle(former: str, now: str, asked: tuple[datetime, datetime]) -> bool:
    """Return whether two versions of a line differ only by the visits; ``asked`` are the moments of both requests.

    >>> at = datetime(2026, 3, 2, 12, 30), datetime(2026, 3, 3, 9, 10)
    >>> is_idle("You are visitor number 1,204.", "You are visitor number 1,318.", at)
    True
    >>> is_idle("Asked for on 2.3.2026, 13:30", "Asked for on 3.3.2026, 10:10", at)
    True
    >>> is_idle("The river stands at 312 cm.", "The river stands at 318 cm.", at)
    False
    """
    if max(len(former), len(now)) > _MAX_LINE:
        return False
    before, after = (_without_request(*each) for each in zip((former, now), asked, strict=True))
    return before == after or _counts_visits(before, after)


def is_of_request(told: datetime, asked: datetime) -> bool:
    """Return whether a moment that a page tells is that of its request, in whatever zone of time it was read.

    >>> is_of_request(datetime(2026, 3, 2, 14, 30, 9), datetime(2026, 3, 2, 12, 30))
    True
    """
    apart = (told - asked).total_seconds()
    zone = round(apart / _QUARTER)
    return abs(zone) <= _FARTHEST_ZONE and abs(apart - zone * _QUARTER) <= _SLACK


def _without_request(line: str, asked: datetime) -> str:
    """Return a line with tokens, and the time and the day of its request, masked.

    How far they are from the request in its zone is left: what is as far from one request as from the other was told
    at both.
    """

    def clock(found: re.Match[str]) -> str:
        told = int(found[1]) * 3_600 + int(found[2]) * 60 + int(found[3] or 0)
        at = asked.hour * 3_600 + asked.minute * 60 + (asked.second if found[3] else 0)
        zone = round((told - at) / _QUARTER)
        return f"#{zone % _HALF_DAY}" if abs(told - at - zone * _QUARTER) <= _SLACK else found[0]

    def day(found: re.Match[str]) -> str:
        year, month, of_month, first, _, second, last = found.groups()
        named = {(year, month, of_month)} if year else {(last, second, first), (last, first, second)}
        apart = [(each - asked.date()).days for names in named if (each := _date(*names)) is not None]
        return next((f"#{days}" for days in apart if abs(days) <= 1), found[0])

    return TOKEN.sub("#", _DAY.sub(day, _CLOCK.sub(clock, line)))


def _date(year: str, month: str, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None


def _counts_visits(former: str, now: str) -> bool:
    """Return whether a line says that it counts visits, and its greatest number that differs has grown."""
    if not _VISITS.search(now) or NUMBER.sub("#", former) != NUMBER.sub("#", now):
        return False
    numbers = (map(_value, NUMBER.findall(line)) for line in (now, former))
    pairs = [(after, before) for after, before in zip(*numbers, strict=True) if after != before]
    return bool(pairs) and max(pairs)[0] > max(pairs)[1]


def _value(number: str) -> int:
    return int(re.sub(r"\D", "", number))
