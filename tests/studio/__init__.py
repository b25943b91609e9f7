"""Tests of the studio."""
