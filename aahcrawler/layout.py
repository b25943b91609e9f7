"""The names of what lies in a crawl's folder, and the extensions of the segments in its folders."""

from typing import Final

ARCHIVE: Final = "archive"
OBJECTS: Final = "objects"
SCORES: Final = "scores"
REFUSED: Final = "refused"
WARC: Final = "warc.gz"
NQUADS: Final = "nq.gz"
READINGS: Final = f"readings.{NQUADS}"
"""That of segments that hold later readings of captures alone; they are segments of N-Quads as well."""
SCORE_LOG: Final = "scores.gz"
REFUSAL_LOG: Final = "refused.gz"

INDEXES: Final = "indexes"
INDEX: Final = "index.cdxj"
HISTORY: Final = "history.sqlite"

FRONTIER: Final = "frontier"
LEARNED: Final = "learned"
TRAPS: Final = "traps"
SPOOL: Final = ".spool"
FORMER: Final = "former"
"""The folder that holds what crawls that are over have said of themselves, by their numbers."""

SUMMARY: Final = "crawl.json"
DEFINITION: Final = "icd.json"
TOPIC: Final = "topic.json"
TOPIC_NOTES: Final = "topic-notes.jsonl"
LOG: Final = "crawl.log"
REPORT: Final = "report.html"
REDEFINING: Final = "redefining.json"
POSTED: Final = "posted.jsonl"
DELIVERED: Final = "delivered.jsonl"

LOCK: Final = ".lock"
KEEPER: Final = ".keeper"
