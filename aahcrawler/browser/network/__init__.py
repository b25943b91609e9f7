"""The only way from the browser to the network: a recording proxy, in front of whoever answers a visit."""
