"""Explanations of how the knowledge base reads a page: results, deciding lines, and near misses."""
