"""Stages of reading that raised, as failures of actions: so they are counted and told wherever these are."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from aahcrawler.helper.assistance import Assistance, FailedAction, Failure
from aahcrawler.page import Page
from aahcrawler.page.failed_stages import FailedStages


def failures_of(page: Page, found: Assistance) -> tuple[FailedAction, ...]:
    """Return the stages of reading a page that raised and are not among the failed actions of its reading yet."""
    application = found.match.application.name if found.match is not None else ""
    told = raised(found)
    return tuple(each for each in of_stages(page.failed, application) if each not in told)


def of_stages(failed: FailedStages, application: str = "") -> tuple[FailedAction, ...]:
    """Return stages of reading that raised as failed actions."""
    return tuple(FailedAction(application, "", each.stage, Failure.RAISED, each.error) for each in failed)


def kind_of(failed: FailedAction) -> str:
    """Return what is one and the same failure on many pages: the stage, and the type of what it raised."""
    return f"{failed.action}: {failed.detail.partition(':')[0]}"


def raised(found: Assistance) -> tuple[FailedAction, ...]:
    """Return the stages of reading a page that raised."""
    return tuple(each for each in found.failed_actions if each.failure is Failure.RAISED)


@dataclass(slots=True)
class RaisedTally:
    """Pages that were read without a stage which raised, by the stage, each with the first such page."""

    pages: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, url: str, failed: Iterable[FailedAction]) -> None:
        """Add the stages that raised on one page."""
        for stage, each in {each.action: each for each in failed}.items():
            self.pages[stage] += 1
            self.first.setdefault(stage, f"{url}: {each.detail}")

    def update(self, other: "RaisedTally") -> None:
        """Add what another one counted."""
        self.pages.update(other.pages)
        self.first = {**other.first, **self.first}

    def lines(self) -> Iterator[str]:
        """Yield what people are told: a line for each stage, with an example."""
        for stage, number in self.pages.most_common():
            pages = "page was" if number == 1 else "pages were"
            yield f"{number:,} {pages} read without {stage}, which failed: {self.first[stage]}"
