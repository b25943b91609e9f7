"""Bodies that schemathesis cannot write by itself; its configuration names this module."""

import schemathesis


@schemathesis.serializer("application/x-ndjson", "application/sparql-query")
def written(_context: object, value: object) -> bytes:
    """Return a text as it is sent."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
