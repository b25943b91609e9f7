"""Keep learned actions, links and signs, in memory and in the files of a crawl."""
