"""The Scrapy project that ``scrapy crawl aah -a icd=FILE`` runs: where spiders and commands are."""

BOT_NAME = "aahcrawler"
SPIDER_MODULES = ["aahcrawler.crawl.scrapy.spider"]
COMMANDS_MODULE = "aahcrawler.crawl.scrapy.commands"

# The crawl keeps its own log, crawl.log in its folder; the terminal belongs to the progress display.
LOG_ENABLED = False
LOG_INSTALL_ROOT_HANDLER = False
