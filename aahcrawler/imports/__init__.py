"""Import WARC, ARC and WACZ files of other programs into a crawl's folder."""
