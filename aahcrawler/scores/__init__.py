"""The score log: append-only files with the scores of each page and link, their times and reasons."""

from aahcrawler.scores.entries import Lesson, Source
from aahcrawler.scores.ranker_lessons import MAX_PAGES, Lessons, Remembered, Share, never_wanted, remember, weighed
from aahcrawler.scores.reader import Leftover, count_lessons, left_over
from aahcrawler.scores.writer import Findings, Leads, ScoreLog, Terms

__all__ = [
    "MAX_PAGES",
    "Findings",
    "Leads",
    "Leftover",
    "Lesson",
    "Lessons",
    "Remembered",
    "ScoreLog",
    "Share",
    "Source",
    "Terms",
    "count_lessons",
    "left_over",
    "never_wanted",
    "remember",
    "weighed",
]
