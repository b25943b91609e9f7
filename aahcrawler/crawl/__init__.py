"""The crawl as a Scrapy project: the only code that knows Scrapy and Twisted."""
