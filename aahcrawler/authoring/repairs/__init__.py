"""What crawls learned, for people to review: beside what it replaces, on real pages, then accepted or rejected."""

from aahcrawler.authoring.repairs.both_readings import Both, FoundLink, FoundObject, Reading, read_both
from aahcrawler.authoring.repairs.edited_repair import edited
from aahcrawler.authoring.repairs.repair_acts import accept, planned_repair, reject
from aahcrawler.authoring.repairs.repair_list import Repair, RepairError, pages_of, repair_of, repairs_in, repairs_of

__all__ = [
    "Both",
    "FoundLink",
    "FoundObject",
    "Reading",
    "Repair",
    "RepairError",
    "accept",
    "edited",
    "pages_of",
    "planned_repair",
    "read_both",
    "reject",
    "repair_of",
    "repairs_in",
    "repairs_of",
]
