"""The processes of Chromium: found, shut off from the network, bounded, and ended with all that they began."""
