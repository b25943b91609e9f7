"""Several workers: the supervisor of one machine, the workers of a shared server, what is submitted to it."""
