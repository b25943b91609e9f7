"""The cases, a module a kind or two."""

from benchmarks.wildweb.kinds import contents, date_languages, junk_words, sessions

CASES = (*sessions.CASES, *contents.CASES, *junk_words.CASES, *date_languages.CASES)
"""All cases, those aside among them."""
