"""Leases of the frontier: taking, renewing and sharing them, and the thread that asks the frontier."""
