"""What each process of ``aah`` that tests fork finds imported, and read of the files that come with the program."""

import aahcrawler.crawl.cluster.supervisor
import aahcrawler.crawl.cluster.worker
import aahcrawler.crawl.scrapy.run
import aahcrawler.report
import aahcrawler.service.server
import offline.tables  # noqa: F401
from aahcrawler import cli  # noqa: F401
from knowledge_base.loader import load

load()
