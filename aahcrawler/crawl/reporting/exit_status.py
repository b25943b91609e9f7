"""Report how a crawl ended, in words and as an exit code."""

from pathlib import Path

from rich.console import Console

from aahcrawler.archive.delivery import Delivery
from aahcrawler.crawl.directory.crawl_runs import FINISHED
from aahcrawler.crawl.reporting.summary import Countable, lines, results
from aahcrawler.crawl.stats.crawl_log import concealed
from aahcrawler.sources.source import LATE
from aahcrawler.tallies import SOURCES_UNAVAILABLE, plural
from aahcrawler.traps.path_shape import Trap

DONE, FAILED, MISTAKE, SEED_GAVE_NOTHING = 0, 1, 2, 3
"""Exit codes: the crawl ended in good order; a store failed; nothing was begun, something has to be mended; the crawl
ended in good order, and at least one of its seeds was no way into its site, or it had no browser for pages that its
definition wants looked at in one, or an archive that it names could not be asked, or not be read as a whole."""


MISSING = "browser_missing"
"""The counts of pages that were not looked at in a browser for want of one, by the reason."""


def outcome(folder: Path, crawl: Countable, failure: object) -> str:
    """Say how a crawl ended, and write its report; ``failure`` is what stopped it, None where nothing went wrong."""
    if failure:
        message = str(failure).rstrip(".")
        return f"{folder}: stopped: {message}; the same command goes on from here"
    told = crawl.stats.told
    kept = f"{folder}: {told.pages:,} pages, {told.objects_in_words} web objects"
    return f"{kept}; {_ending(crawl.reason)}{_of_seeds(crawl)}.{_report(folder)}"


def tell_seeds(console: Console, crawl: Countable) -> None:
    """Say what became of the seeds that were not simply fetched, and what to do about it, a line each."""
    for line in lines(results(crawl)):
        say(console, line)


def tell_browser(console: Console, crawl: Countable) -> None:
    """Say that pages were not looked at in a browser for want of one, and what to do about it."""
    for why, pages in crawl.stats.group(MISSING).items():
        say(console, f"kept as they came for want of a browser: {pages:,} {'page' if pages == 1 else 'pages'}. {why}")


def tell_sources(console: Console, crawl: Countable) -> None:
    """Say which archives could not be asked, or said what is of no use, and how often."""
    for what, times in crawl.stats.group("source_trouble").items():
        say(console, f"archive {what}, {times:,} {'time' if times == 1 else 'times'}; crawl.log says more")
    for file, places in crawl.source_damage.items():
        damage = f"archive {file}: {plural(places, 'place')} of it cannot be read, as if it were damaged or cut off"
        say(console, f"{damage}; `aah import` tells where, and what was lost")


def tell_repeated(console: Console, crawl: Countable) -> None:
    """Say how many links were left out for what pages like theirs show: a page that is new may be among them."""
    links = int(crawl.stats[f"refused:{Trap.REPEATED}"])
    if links:
        left = f"not followed, since {Trap.REPEATED.words}: {plural(links, 'link')}; new pages may be among them"
        say(console, f"{left}. The report names their patterns; traps.barren: 0 in the definition follows them")


def _lacks_archive(crawl: Countable) -> bool:
    """Return whether URLs could not be looked up, an archive gave nothing but trouble, or one is not whole."""
    giving = crawl.stats.group("source_archive")
    told = (what.rpartition(": ") for what in crawl.stats.group("source_trouble"))
    in_trouble = {archive for archive, _, reason in told if reason != LATE}
    return bool(in_trouble - giving.keys() or crawl.source_damage) or SOURCES_UNAVAILABLE in crawl.stats.group("error")


def ended_well(crawl: Countable) -> int:
    """Return the exit code of a crawl of which no store failed."""
    is_demanded = crawl.icd.browser.use == "always" or bool(crawl.icd.browser.pages)
    lacks_browser = is_demanded and bool(crawl.stats.group(MISSING))
    gave_nothing = any(each.gave_nothing for each in results(crawl))
    return SEED_GAVE_NOTHING if gave_nothing or lacks_browser or _lacks_archive(crawl) else DONE


def tell_undelivered(console: Console, folder: Path, delivery: Delivery | None) -> None:
    """Say what is still to be delivered, where there is anything."""
    if delivery is not None and delivery.progress.waiting:
        left = delivery.progress
        say(console, f"files still to be delivered to {left.target}: {left.waiting}; aah archive deliver {folder}")


def tell_items(console: Console, crawl: Countable) -> None:
    """Say how many web objects Scrapy's item pipelines did not take, where there are any."""
    failed, dropped = (int(crawl.stats[name]) for name in ("items_failed", "items_dropped"))
    if failed or dropped:
        said = f"item pipelines failed on {failed:,} web objects and dropped {dropped:,}"
        say(console, f"{said}; the archive has them all, and the log says why")


def say(console: Console, text: str) -> None:
    """Write a line as it is, without secrets."""
    console.print(concealed(text), markup=False, highlight=False, soft_wrap=True)


def _of_seeds(crawl: Countable) -> str:
    found = results(crawl)
    nothing = sum(each.gave_nothing for each in found)
    if not nothing:
        return ""
    return f"; {nothing:,} of {len(found):,} seeds gave nothing" if len(found) > 1 else "; the seed gave nothing"


def _ending(reason: str) -> str:
    if reason == FINISHED:
        return reason
    if reason.startswith(("limits.", "closespider_")):
        return f"stopped, {reason}"
    return "stopped; the same command goes on from here"


def _report(folder: Path) -> str:
    # No crawl's start waits for its report.
    from aahcrawler.report import ReportError, ReportNotWrittenError, write_report  # noqa: PLC0415

    try:
        return f" See {write_report(folder)}"
    except ReportNotWrittenError as error:
        return f" There is no report: {error}; `aah report {folder}` writes it"
    except ReportError:  # A crawl that was ended at once, by a second Ctrl-C, may have no summary yet.
        return ""
