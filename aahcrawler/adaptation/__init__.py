"""Survives redesigns: detects actions that fail, finds the content again, learns new actions with evidence."""
