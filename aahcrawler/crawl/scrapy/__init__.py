"""Everything that Scrapy calls: spider, scheduler, middleware, items, settings, commands."""
