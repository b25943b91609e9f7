"""Make the table of the words of dates that the package carries, from the CLDR data that Babel keeps.

``python -m benchmarks.date_words`` writes the table anew. It is made beforehand since Babel takes a fifth of a second
to start and milliseconds for each of the languages, all of which have to be known to tell a date from other text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise
from pathlib import Path

from babel import Locale, localedata
from babel.core import get_global
from babel.dates import tokenize_pattern

from aahcrawler.page.date_parts import SPACELESS, TABLE, tokens

_CODES = """
en de fr es pt it nl sv da no fi is fo pl cs sk ru uk be bg sr bs hr sl mk el tr az kk ky uz mn ro hu et lv lt sq ka hy
eu ca gl ast ga cy gd br mt lb fy af id ms fil jv sw so zu am vi th lo km my hi mr ne bn as gu pa or ta te kn ml si ur
fa ps ar he zh ja ko eo
"""
LANGUAGES = tuple(_CODES.split())
"""The languages by the first part of their CLDR locales; what all locales of one language have is put together."""

_ALSO = {"no": ("nb", "nn")}
_SCRIPTS = frozenset({"Dsrt", "Shaw", "Adlm", "Nkoo"})
"""Scripts in which hardly any page is written."""

_UNITS = ("second", "minute", "hour", "day", "week", "month", "year")
_FORMATS = ("full", "long", "medium", "short")
_NUMBERED = re.compile(r"m \d+")
"""What CLDR's root calls months of no name."""
_QUOTED = re.compile(r"'[^']*'")
_FIELDS = re.compile(r"[yMd]+")


_OTHER = frozenset("wWQq")
"""The letters of weeks and quarters in patterns."""

Words = dict[str, None]
"""Words in the order in which they were found, each once."""


def table() -> str:
    """Return the table, as ``aahcrawler.page.date_parts`` reads it."""
    lines = [
        f"# Words of dates from the Unicode CLDR, version {get_global('cldr')['version']}, as Babel keeps them.",
        "# Copyright 1991 and later Unicode, Inc. SPDX-License-Identifier: Unicode-3.0",
        "# Made by benchmarks/date_words.py; what CLDR lacks stands in date_words.txt.",
    ]
    for language in LANGUAGES:
        lines += _language(language)
    return "\n".join(lines) + "\n"


def _language(language: str) -> Iterator[str]:
    locales = list(_locales(language))
    yield f"[{language}] {' '.join(_orders(locales))}"
    for letter, groups in (
        ("M", _named(locales, "months", range(1, 13))),
        ("D", _named(locales, "days", range(7))),
        ("U", _units(locales)),
    ):
        if any(groups):
            yield f"{letter} {'|'.join('/'.join(group) for group in groups)}"
    halves = _halves(locales)
    yield f"H {'|'.join(f'{hours} ' + '/'.join(words) for hours, words in sorted(halves.items()))}"
    for letter, words in (("A", _ago(locales)), ("F", _fillers(locales))):
        if words:
            yield f"{letter} {'/'.join(words)}"


def _locales(language: str) -> Iterator[Locale]:
    """Yield a language's locales, that of the language itself first."""
    names = sorted(localedata.locale_identifiers(), key=lambda name: (len(name), name))
    wanted = (language, *_ALSO.get(language, ()))
    for name in names:
        if name.partition("_")[0] in wanted and _SCRIPTS.isdisjoint(name.split("_")):
            # What Babel keeps loaded takes up words of locales that were loaded before.
            localedata._cache.clear()  # noqa: SLF001
            yield Locale.parse(name)


def _orders(locales: Iterable[Locale]) -> Iterator[str]:
    """Yield the order of day, month and year in a language, and of its regions that have another one."""
    usual = ""
    for locale in locales:
        short, whole = (_QUOTED.sub("", locale.date_formats[name].pattern) for name in ("short", "long"))
        order = "".join(field[0].lower() for field in _FIELDS.findall(short))
        if order == "ymd" and _FIELDS.findall(whole)[0][0] != "y":
            order += re.sub(r"[^./-]", "", short)[:1]
        if order[:3] not in ("dmy", "mdy", "ymd"):
            continue
        if not usual:
            usual = order
            yield order
        elif order != usual and locale.territory and not locale.variant:
            yield f"{locale.territory}={order}"


def _named(locales: Iterable[Locale], kind: str, numbers: Iterable[int]) -> list[Words]:
    """Return the names of months or weekdays by their numbers; narrow ones are too short to tell anything."""
    found: list[Words] = [{} for _ in numbers]
    for locale in locales:
        tables: Mapping[str, Mapping[str, Mapping[int, str]]] = getattr(locale, kind)
        for _, widths in sorted(tables.items()):
            for width in sorted(set(widths) - {"narrow"}):
                for number, name in widths[width].items():
                    words = " ".join(tokens(name))
                    if words and not words.isdigit() and not _NUMBERED.fullmatch(words):
                        found[number - (kind == "months")][words] = None
        if kind == "months":
            for suffix in sorted(_suffixes(locale)):
                names = (*(locale.months["format"][width].items() for width in ("wide", "abbreviated")),)
                for number, name in chain.from_iterable(names):
                    found[number - 1][" ".join(tokens(name + suffix))] = None
    return found


def _suffixes(locale: Locale) -> set[str]:
    """Return the endings that patterns add to the names of months: ``ren`` of ``MMMM'ren'``."""
    found = set()
    for pattern in _patterns(locale):
        parts = tokenize_pattern(pattern)
        for part, following in pairwise(parts):
            if part[0] == "field" and part[1][0] in "ML" and following[0] == "chars":
                ending = re.match(r"[^\W\d_]+", str(following[1]))
                if ending and not SPACELESS.search(ending[0]):
                    found.add(ending[0])
    return found


def _patterns(locale: Locale) -> Iterator[str]:
    yield from (locale.date_formats[name].pattern for name in _FORMATS)
    yield from (pattern.pattern for pattern in locale.datetime_skeletons.values() if hasattr(pattern, "pattern"))


def _fillers(locales: Iterable[Locale]) -> Words:
    """Return the words between the fields of dates, between date and time, and of the present era."""
    found: Words = {}
    for locale in locales:
        texts = [*_patterns(locale), *(locale.time_formats[name].pattern for name in _FORMATS)]
        for pattern in texts:
            for kind, value in tokenize_pattern(pattern):
                if kind == "chars" and _OTHER.isdisjoint(pattern):
                    found.update(dict.fromkeys(tokens(str(value))))
        for glue in locale.datetime_formats.values():
            literal = re.sub(r"\{\d\}", " ", str(getattr(glue, "pattern", glue)).replace("'", ""))
            found.update(dict.fromkeys(tokens(literal)))
        for width in ("abbreviated", "wide"):
            era = locale.eras[width].get(1, "") if width in locale.eras else ""
            if era:
                found[" ".join(tokens(era))] = None
    return found


def _halves(locales: Iterable[Locale]) -> dict[str, Words]:
    """Return the words for parts of a day by their hours: ``0-12`` before noon, ``18-24`` the evening."""
    found: dict[str, Words] = {"0-12": {}, "12-24": {}}
    for locale in locales:
        hours = {"am": "0-12", "pm": "12-24", **_hours(locale)}
        for widths in locale.day_periods.values():
            for width, names in widths.items():
                for name, words in names.items():
                    plain = " ".join(tokens(words))
                    is_short = width == "narrow" and (name not in ("am", "pm") or plain.isascii())
                    if plain and name in hours and not is_short:
                        found.setdefault(hours[name], {})[plain] = None
    return {each: words for each, words in found.items() if words}


def _hours(locale: Locale) -> Mapping[str, str]:
    found = {}
    for name, rules in locale.day_period_rules.get(None, {}).items():
        rule = rules[0]
        if "from" in rule and "before" in rule:
            found[name] = f"{rule['from'] // 3600}-{rule['before'] // 3600}"
    return found


def _past(locale: Locale, unit: str, tense: str = "past") -> Iterator[list[str]]:
    """Yield the words of the patterns that tell how long ago something was, the number left out."""
    for style in ("", "-short", "-narrow"):
        fields = locale._data["date_fields"]  # noqa: SLF001 (Babel gives them in another form only)
        for pattern in fields.get(unit + style, {}).get(tense, {}).values():
            if "{0}" in pattern:
                yield tokens(pattern.replace("{0}", " 1 "))


def _ago(locales: Iterable[Locale]) -> Words:
    """Return the words that the patterns of most units share and those of the future lack."""
    found: Words = {}
    for locale in locales:
        past = {unit: {word for words in _past(locale, unit) for word in words if word != "1"} for unit in _UNITS}
        ahead = {word for unit in _UNITS for words in _past(locale, unit, "future") for word in words}
        for word in sorted(set().union(*past.values()) - ahead):
            if sum(word in words for words in past.values()) >= 3:
                found[word] = None
    return found


def _units(locales: Iterable[Locale]) -> list[Words]:
    """Return the words for units of time in what tells how long ago something was."""
    found: list[Words] = [{} for _ in _UNITS]
    for locale in locales:
        ago = _ago([locale])
        for number, unit in enumerate(_UNITS):
            for words in _past(locale, unit):
                left = [word for word in words if word != "1" and word not in ago]
                if len(left) == 1 and len(left) < len(words) - 1:
                    found[number][left[0]] = None
    return found


def main() -> None:
    """Write the table into the package."""
    Path(TABLE).write_text(table(), encoding="utf-8")


if __name__ == "__main__":
    main()
