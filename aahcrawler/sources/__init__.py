"""Where captures come from beside the live web: archives that lie here, CDX servers, Memento (RFC 7089)."""
