"""Recurring crawls: when each is due, the process that starts them, and the messages about them."""
