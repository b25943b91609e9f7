"""Crawls real applications that are installed, filled with known content and changed between two crawls."""
