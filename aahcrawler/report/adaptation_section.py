"""Shows in the report the actions that failed, and the actions learned in their place."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape

from aahcrawler.adaptation.store.overlay import Evidence

FAILURE_WORDS: Mapping[str, str] = {
    "nothing-found": "found nothing, where each page of the level has something",
    "incomplete": "found objects without their texts",
    "stopped-working": "found none of its former results any more",
    "changed-shape": "found less than it used to",
    "too-much": "found more than a page can hold",
    "error": "could not be run",
    "slow": "would have taken too much work and was left out",
    "conflict": "two applications claim the page",
    "no-sign": "shows no sign of its software any more, which only a former crawl knew: until a sign is learned or a "
    "pattern is added to the file, new pages of the site are read as those of no known software",
    "raised": "met what it is not made for: the pages were read without it",
    "needs-browser": "only a browser could show the content of the page",
    "reads-less": "the draft read less of the page than reading without it, which counts",
    "not-sent": "the form would change something, or lacks a value",
}
_LESS = "reads-less"
METHOD_WORDS: Mapping[str, str] = {
    "memory": "by the content of pages in a former crawl",
    "relaxed": "by relaxed expressions",
    "induced": "by the structure that the pages repeat",
}
_ABSENT = (
    "<p>Where nothing was found all the same, the page showed nothing that could be meant, or too little to be sure of "
    "it: nothing was put in its place. Nor does it count as found where objects that a former crawl knew, and that the "
    "page still shows, are missing.</p>"
)

_SPARED = (
    "<p>After several failures in a row, repair of an action, and learning from what repair finds, are tried on ever "
    "fewer pages of a site. On the others objects are missing, or each page was read by its structure alone.</p>"
)


def failures(failed: Mapping[str, int], mended: Mapping[str, int], spared: Mapping[str, int]) -> str:
    """Return a table of failures by place and reason; ``failed``, ``mended`` and ``spared`` count pages by these.

    Content that was not found by any means is called absent: nothing was put in its place.
    """
    if not failed:
        return "<p>No action failed.</p>"
    rows = "".join(
        _failure(place, count, mended.get(place, 0), spared.get(place, 0)) for place, count in failed.items()
    )
    columns = "<td>pages</td><td>found all the same</td><td>repair or learning not tried</td>"
    head = f"<tr><th>action</th><th>failure</th>{columns}</tr>"
    drafts = "".join(_draft(place, count) for place, count in failed.items() if place.endswith(f": {_LESS}"))
    absent = "" if sum(mended.values()) == sum(failed.values()) else _ABSENT
    return f"<table>{head}{rows}</table>{drafts}{absent}{_SPARED if spared else ''}"


def _draft(place: str, count: int) -> str:
    """Say of which pages a draft read less than is read without it, and what to do about it."""
    application, level, _ = place.rpartition(": ")[0].rsplit("/", 2)
    pages = "a page" if count == 1 else f"{count:,} pages"
    told = f"The draft {application} read less than no file would on {pages} of level {level}."
    return f"<p>{escape(told)} Look at its guesses with <code>aah kb explain</code>.</p>"


def _failure(place: str, count: int, mended: int, spared: int) -> str:
    where, _, reason = place.rpartition(": ")
    words = FAILURE_WORDS.get(reason, reason)
    found = f"{mended:,}" if mended else "nothing"
    failed = f"<th>{escape(where)}</th><th>{escape(words)} ({escape(reason)})</th>"
    return f"<tr>{failed}<td>{count:,}</td><td>{found}</td><td>{spared:,}</td></tr>"


def learned(known: Sequence[Evidence], used: Mapping[str, int], begun: str) -> str:
    """Return the learned actions with their evidence; ``used`` counts pages by the action that read them.

    Actions that were learned before the crawl had ``begun`` are marked as of a former crawl.
    """
    if not known:
        return ""
    items = "".join(f"<li>{_learned(each, begun)}</li>" for each in sorted(known, key=lambda each: each.date))
    pages = sum(used.values())
    told = f"Learned actions read {pages:,} pages of this crawl; <code>aah kb learned</code> shows what they say."
    return f"<p>{told}</p><ul>{items}</ul>"


def _learned(each: Evidence, begun: str) -> str:
    place = "/".join(filter(None, (each.application, each.level, each.action)))
    when = "" if _is_since(each.date, begun) else ", in a former crawl"
    method = METHOD_WORDS.get(each.method, each.method)
    first, rest = each.pages[0] if each.pages else "", len(each.pages) - 1
    pages = f"{escape(first)}{f' and {rest} more' if rest > 0 else ''}"
    return (
        f"<b>{escape(each.name)}</b> for {escape(place)} on {escape(each.site)}, {escape(method)}{when}: "
        f"{_counted(each)}; confidence {each.confidence:.2f}. Evidence: {pages}{_decided(each)}"
    )


def _decided(each: Evidence) -> str:
    return f". <b>It was {escape(each.decision.words)}</b>" if each.decision is not None else ""


def _counted(each: Evidence) -> str:
    if each.kind == "sign":
        of = "its level" if each.level else "the application"
        return f"a sign of {of}, on {each.after:,} pages of it and on none of {each.before:,} others"
    what = "links" if each.kind == "links" else "objects"
    return (
        f"{each.after:,} {what} on {len(each.pages):,} pages where the action of the file found {each.before:,} "
        f"({escape(each.failure)})"
    )


def _is_since(date: str, begun: str) -> bool:
    try:
        return datetime.fromisoformat(date) >= datetime.fromisoformat(begun)
    except (ValueError, TypeError):
        return True
