"""The cases, a module a kind or two."""

from benchmarks.wildweb.kinds import (
    addresses,
    contents,
    date_declared,
    date_languages,
    date_nobody,
    documents,
    feeds,
    junk_words,
    markup,
    refreshes,
    requisites,
    sessions,
    sitemaps,
    verdicts,
)

CASES = (
    *sessions.CASES,
    *contents.CASES,
    *junk_words.CASES,
    *date_languages.CASES,
    *date_declared.CASES,
    *date_nobody.CASES,
    *addresses.CASES,
    *refreshes.CASES,
    *requisites.CASES,
    *sitemaps.CASES,
    *feeds.CASES,
    *documents.CASES,
    *verdicts.CASES,
    *markup.CASES,
)
"""All cases, those aside among them."""
