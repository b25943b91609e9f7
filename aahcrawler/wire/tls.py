"""TLS contexts: one that verifies certificates, and one for hosts whose certificates are accepted unverified."""

import ssl

from aahcrawler.wire.route import Tls

LEGACY_SERVER_CONNECT = 0x4
"""OpenSSL's option of that name, which Python's ``ssl`` names only from 3.12 on."""


class TlsContexts:
    """Creates each TLS context once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Tls, bool], ssl.SSLContext] = {}

    def of(self, tls: Tls, *, verify: bool) -> ssl.SSLContext:
        """Return the context for these certificates.

        Raises ``OSError`` (``ssl.SSLError`` included) for unusable files.
        """
        key = tls, verify
        if key not in self._known:
            self._known[key] = tls_context(tls, verify=verify)
        return self._known[key]


def tls_context(tls: Tls, *, verify: bool) -> ssl.SSLContext:
    """Return the system's default context with a host's certificates; without ``verify``, one that accepts any.

    Raises ``OSError`` (``ssl.SSLError`` included) for files that cannot be used.
    """
    context = ssl.create_default_context()
    if tls.ca_file is not None:
        context.load_verify_locations(tls.ca_file)
    if tls.certificate is not None:
        # Without a passphrase OpenSSL would ask for one at the terminal.
        context.load_cert_chain(tls.certificate, tls.key, lambda: tls.passphrase)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.options |= LEGACY_SERVER_CONNECT
    context.set_alpn_protocols(["http/1.1"])
    return context


def problem_of(error: ssl.SSLError) -> str:
    """Describe in a few words, without naming a host, what is wrong with a certificate or a handshake.

    >>> problem_of(ssl.SSLError(1, "[SSL: UNSUPPORTED_PROTOCOL] unsupported protocol (_ssl.c:1)"))
    'handshake failed'
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message.partition(",")[0].strip().rstrip(".").lower() or "certificate does not verify"
    return (getattr(error, "reason", None) or "handshake failed").replace("_", " ").lower()
