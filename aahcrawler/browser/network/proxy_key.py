"""The key of a recording proxy, which only one browser trusts, and certificates of hosts made with it."""

import ssl
import tempfile
from base64 import b64encode
from collections import OrderedDict
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import NameOID

HOSTS = 256
"""The hosts whose certificates are kept; that of one more is made again when it is asked for."""
_VALIDITY = timedelta(days=2)
_CLOCKS = timedelta(hours=1)
_MAX_NAME_LENGTH = 64
"""Characters of a common name (RFC 5280, appendix A.1)."""


class ProxyKey:
    """A key that lives as long as one browser; it is kept in memory only, and nothing else trusts it.

    Each host gets its own self-signed certificate, so that the key is no certificate authority that could be misused.
    """

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        self._private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self._contexts: OrderedDict[str, ssl.SSLContext] = OrderedDict()

    @classmethod
    def new(cls) -> "ProxyKey":
        """Generate a key."""
        return cls(ec.generate_private_key(ec.SECP256R1()))

    @property
    def spki_hash(self) -> str:
        """The SHA-256 of the public key in base64, as ``--ignore-certificate-errors-spki-list`` takes it."""
        public = self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return b64encode(sha256(public).digest()).decode("ascii")

    def context(self, host: str) -> ssl.SSLContext:
        """Return the TLS context of a server for a host.

        ``host`` is an ASCII name or an IP address without brackets.
        """
        context = self._contexts.pop(host, None) or self._made(host)
        self._contexts[host] = context
        if len(self._contexts) > HOSTS:
            self._contexts.popitem(last=False)
        return context

    def _made(self, host: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        # The library reads certificates from files only; only this user can read this one.
        with tempfile.NamedTemporaryFile() as file:
            file.write(self._private + self._certificate(host).public_bytes(Encoding.PEM))
            file.flush()
            context.load_cert_chain(file.name)
        return context

    def _certificate(self, host: str) -> x509.Certificate:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host[:_MAX_NAME_LENGTH])])
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _CLOCKS)
            .not_valid_after(now + _VALIDITY)
            .add_extension(x509.SubjectAlternativeName([_alternative(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
