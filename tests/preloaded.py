"""What each process of ``aah`` that tests fork finds imported, and read of the files that come with the program.

A page is understood here, so that what is computed once a process is there: models of languages, classes of characters.
"""

import gc
from datetime import UTC, datetime
from importlib import import_module

from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Headers, Page
from aahcrawler.traps.sketch import sketch
from knowledge_base.loader import load
from online_analysis.terms import listed_idf

WORDS = "The harbour was full of ships, and everybody who had a house at the quay looked at what came ashore there."
PAGE = f"<html><head><title>The harbour</title></head><body><h1>The harbour</h1><p>{WORDS}</p></body></html>"

for module in (
    "aahcrawler.cli",
    "aahcrawler.crawl.cluster.supervisor",
    "aahcrawler.crawl.cluster.worker",
    "aahcrawler.crawl.scrapy.run",
    "aahcrawler.report",
    "aahcrawler.service.server",
    "offline.tables",
):
    import_module(module)
for language in ("en", None):
    listed_idf(language)
headers = Headers((("Content-Type", "text/html; charset=utf-8"),))
page = Page("http://harbour.test/", 200, headers, PAGE.encode(), datetime(2026, 1, 1, tzinfo=UTC))
ApplicationAwareHelper(load()).assist(page)
sketch(WORDS)
# What is here stays: no process looks for garbage among it, and none copies it by looking.
gc.collect()
gc.freeze()
