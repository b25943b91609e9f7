"""The browser's only way to the network: a recording proxy in front of the upstream that answers a visit's requests."""
