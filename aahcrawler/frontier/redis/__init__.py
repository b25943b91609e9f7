"""The frontier on a Redis-protocol server: records, Lua scripts, partitions, and the registry of crawls."""
