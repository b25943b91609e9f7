"""How hosts are reached: through which proxy, and with which certificates. docs/icd.md explains every field."""

import re
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from online_analysis.icd.mistakes import Section, refuse
from online_analysis.icd.secrets import Secret, WholePath

DIRECT = "direct"
"""Used in place of a proxy's URL for none."""
_PORTS = {"http": 8080, "socks5": 1080, "socks5h": 1080}
_FORMS = "write http://proxy.example.org:3128, socks5h://127.0.0.1:9050 or socks5://127.0.0.1:1080"


class ProxySection(Section):
    """A proxy; with a ``url`` of ``socks5`` names are resolved on this machine, otherwise by the proxy.

    ``plain`` says how http (not https) is sent through an HTTP proxy: through a tunnel, too, or by forwarding.
    """

    url: str = Field(max_length=1000, examples=["http://proxy.example.org:3128"])
    user: str = Field(default="", max_length=255, examples=["crawler"])
    password: Secret | None = Field(default=None, examples=["{env: PROXY_PASSWORD}"])
    plain: Literal["tunnel", "forward"] = Field(default="tunnel", examples=["forward"])

    @model_validator(mode="before")
    @classmethod
    def _url_alone(cls, value: Any) -> Any:
        return {"url": value} if isinstance(value, str) else value

    @field_validator("url")
    @classmethod
    def _known(cls, url: str) -> str:
        text = url.strip()
        if text == DIRECT:
            return text
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise refuse("is no URL of a proxy", _FORMS) from None
        if "@" in parts.netloc:
            raise refuse("holds a user name", "write user: NAME and password: {env: VARIABLE} beside url")
        if parts.scheme not in _PORTS or not host or not re.fullmatch(r"[a-z0-9._:-]+", host):
            raise refuse("is no URL of a proxy that the crawler can use", _FORMS)
        if parts.path.strip("/") or parts.query or parts.fragment or port == 0:
            raise refuse("has more than a host and a port", _FORMS)
        shown = f"[{host}]" if ":" in host else host
        return f"{parts.scheme}://{shown}:{port or _PORTS[parts.scheme]}"

    @property
    def is_direct(self) -> bool:
        """Whether hosts are reached directly, without a proxy."""
        return self.url == DIRECT


class HostConnection(Section):
    """How a host, and all its subdomains, are reached; fields without a value use the general setting.

    ``certificates`` says what happens if a certificate does not verify: ``verify`` refuses it, ``accept`` accepts it
    and records the problem in the archive. Files are PEM; a ``client_certificate`` may contain its key.
    """

    proxy: ProxySection | None = Field(default=None, examples=["socks5h://127.0.0.1:9050, or direct"])
    certificates: Literal["verify", "accept"] = Field(default="verify", examples=["accept"])
    ca_file: WholePath | None = Field(default=None, examples=["~/certificates/our-ca.pem"])
    client_certificate: WholePath | None = Field(default=None, examples=["~/certificates/crawler.pem"])
    client_key: WholePath | None = Field(default=None, examples=["~/certificates/crawler.key"])
    client_passphrase: Secret | None = Field(default=None, examples=["{file: ~/certificates/passphrase}"])

    @model_validator(mode="after")
    def _key_of_something(self) -> "HostConnection":
        if (self.client_key or self.client_passphrase) and not self.client_certificate:
            raise refuse("has a client key and no client certificate", "add client_certificate: FILE")
        return self
