"""The folder of a crawl: paths, locks, its runs one after another, files that are written whole or watched."""
