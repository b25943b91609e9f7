"""The sites that are crawled: those written for the benchmark, and real software."""
