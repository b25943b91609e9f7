"""Enrichment: annotators that say who, what, where and when web objects speak of (ARCOMEM, section 3.3)."""
