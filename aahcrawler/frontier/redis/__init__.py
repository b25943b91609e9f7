"""The frontier on a Redis-protocol server: records, Lua scripts, partitions, the registry of crawls."""
