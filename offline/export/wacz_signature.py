"""The anonymous signature of a package (WACZ Signing and Verification 0.1.0), by a key that its owner publishes.

The signed value is the digest of ``datapackage.json``, which contains the digests of all members.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from aahcrawler import __version__
from offline.export.wacz_file import ExportError

_VERSION: Final = "0.1.0"
_HALF: Final = 48
"""Bytes of each of the two numbers of a signature on the curve P-384."""
_HOW: Final = "make one by: openssl ecparam -name secp384r1 -genkey -noout -out key.pem"


@dataclass(frozen=True, slots=True)
class EcdsaKey:
    """A private key on the curve P-384, which ReplayWeb.page supports."""

    key: ec.EllipticCurvePrivateKey

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a key in PEM, without a password. Raises ``ExportError``."""
        try:
            key = load_pem_private_key(file.read_bytes(), None)
        except OSError as error:
            raise ExportError(f"--sign {file}: cannot be read ({error.strerror}); {_HOW}") from error
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise ExportError(f"--sign {file}: is no private key in PEM without a password; {_HOW}") from error
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP384R1):
            raise ExportError(f"--sign {file}: is a key of another kind than ECDSA on the curve P-384; {_HOW}")
        return cls(key)

    def signed(self, digest: str, created: str) -> Mapping[str, str]:
        """Return the ``signedData`` of a digest. The same digest has the same signature."""
        made = self.key.sign(digest.encode(), ec.ECDSA(hashes.SHA256(), deterministic_signing=True))
        # Web Crypto wants both numbers one after the other, and not in ASN.1.
        raw = b"".join(number.to_bytes(_HALF, "big") for number in decode_dss_signature(made))
        public = self.key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return {
            "hash": digest,
            "created": created,
            "software": f"AAHCrawler/{__version__}",
            "version": _VERSION,
            "signature": base64.b64encode(raw).decode(),
            "publicKey": base64.b64encode(public).decode(),
        }
