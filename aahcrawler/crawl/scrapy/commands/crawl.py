"""``scrapy crawl``, with the clear refusals and exit codes of ``aah crawl`` for the spider ``aah``."""

import argparse
from pathlib import Path

from scrapy.commands.crawl import Command as ScrapyCrawl
from scrapy.exceptions import UsageError

from aahcrawler.crawl.scrapy.run import run
from aahcrawler.crawl.scrapy.spider import AahSpider

ARGUMENTS = frozenset({"icd", "accept_changes"})


class Command(ScrapyCrawl):
    """Runs a spider of the project by name; ``aah`` takes ``-a icd=FILE`` and ``-a accept_changes=1``."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the spider that is named."""
        spider = self._crawling(args)
        if spider is None:
            super().run(args, opts)
            return
        icd = opts.spargs.get("icd")
        if not icd:
            raise UsageError(f"name the definition to crawl: scrapy crawl {spider.name} -a icd=FILE", print_help=False)
        if unknown := sorted(set(opts.spargs) - ARGUMENTS):
            raise UsageError(f"the spider {spider.name} takes no argument {', '.join(unknown)}", print_help=False)
        assert self.settings is not None  # noqa: S101  # Scrapy sets it before it runs a command
        accept = opts.spargs.get("accept_changes", "") not in {"", "0", "false", "no"}
        self.exitcode = run(Path(icd), self.settings, accept_changes=accept, spider=spider)

    def _crawling(self, args: list[str]) -> type[AahSpider] | None:
        """Return the spider that is named where it is ours, or derived from it."""
        assert self.crawler_process is not None  # noqa: S101
        if len(args) != 1 or args[0] not in self.crawler_process.spider_loader.list():
            return None
        spider = self.crawler_process.spider_loader.load(args[0])
        return spider if issubclass(spider, AahSpider) else None
