"""Everything that Scrapy calls: spider, scheduler, middleware, add-on, settings, commands."""
