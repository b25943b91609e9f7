"""Find the records that one page of unknown software repeats: posts, comments, entries of lists.

Each page is read on its own, without expressions. `aahcrawler.wrapper_induction` induces expressions for all pages of a
template from labelled pages.
"""

from aahcrawler.induction.main_part import MainPart, main_part
from aahcrawler.induction.prepared_page import PreparedPage
from aahcrawler.induction.record_finding import find_records, records
from aahcrawler.induction.record_sets import Nature, Record, RecordSet, Region

__all__ = [
    "MainPart",
    "Nature",
    "PreparedPage",
    "Record",
    "RecordSet",
    "Region",
    "find_records",
    "main_part",
    "records",
]
