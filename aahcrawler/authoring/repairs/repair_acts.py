"""Accept a repair into the application's file, or reject it so that no crawl of its folder uses it any more."""

from collections.abc import Sequence
from pathlib import Path

from aahcrawler.adaptation.store.decisions import Decision, Decisions, State
from aahcrawler.authoring.editing.edits import Edit
from aahcrawler.authoring.printable_text import plain_line
from aahcrawler.authoring.promotion import Plan, Promoted, carried_out, planned
from aahcrawler.authoring.repairs.edited_repair import edited
from aahcrawler.authoring.repairs.repair_list import Repair, RepairError, pages_of
from aahcrawler.layout import LEARNED


def planned_repair(repair: Repair, folders: Sequence[Path], edits: Sequence[Edit] = (), variant: str = "") -> Plan:
    """Find out what accepting a repair, with edits or as it is, would change; nothing is written.

    Raises `RepairError`, `PromotionError`, `LoadError`, `SavedPageError` and `OwnFolderError`.
    """
    return planned(edited(repair, edits).learned, pages_of(repair), folders, variant)


def accept(
    repair: Repair, folders: Sequence[Path], who: str, edits: Sequence[Edit] = (), variant: str = ""
) -> Promoted:
    """Make a repair, with edits or as it is, part of its application's file once all pages prove it, and note that.

    Raises what `planned_repair` raises; nothing is written then.
    """
    return accept_plan(repair, planned_repair(repair, folders, edits, variant), folders, who)


def accept_plan(repair: Repair, plan: Plan, folders: Sequence[Path], who: str) -> Promoted:
    """Carry out what `planned_repair` found, and note that the repair was accepted. Raises `OwnFolderError`."""
    promoted = carried_out(plan, folders, who)
    changed = "with changes" if plan.learned != repair.learned else ""
    Decisions(repair.crawl / LEARNED).note(repair.learned, State.ACCEPTED, plain_line(who), changed)
    return promoted


def reject(repair: Repair, who: str, why: str) -> Decision:
    """Note that a repair is not to be used; further crawls of its folder do not, and it is not offered again.

    Raises `RepairError` without a reason, or if the disk refuses.
    """
    reason = plain_line(why)
    if not reason:
        raise RepairError("say why it is rejected, so that others understand: --because TEXT")
    try:
        return Decisions(repair.crawl / LEARNED).note(repair.learned, State.REJECTED, plain_line(who), reason)
    except OSError as error:
        raise RepairError(f"the folder of the crawl cannot be written to: {error.strerror or error}") from error
