"""What each process of ``aah`` that tests fork finds imported, and read of the files that come with the program."""

from importlib import import_module

from knowledge_base.loader import load
from online_analysis.terms import listed_idf

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
load()
for language in ("en", None):
    listed_idf(language)
