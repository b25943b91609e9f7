"""Sources of captures besides the live web: local archives, CDX servers, Memento (RFC 7089)."""
