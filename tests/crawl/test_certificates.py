"""Certificates that do not verify: refused, or accepted by host and noted wherever somebody looks."""

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.crawl.crawling import aah, summary, write_icd
from tests.crawl.site import Site, html, links, serving
from tests.crawl.test_proxied_crawl import everything_written
from tests.crawl.verifying import assert_whole
from tests.crawl.world import crawl
from tests.wire.certificates import self_signed

NAMES = ("north", "south", "east", "west")


@contextmanager
def secured(folder: Path, verify: ssl.VerifyMode = ssl.CERT_NONE) -> Iterator[tuple[str, Site]]:
    """Serve a site by https; the certificate that it shows, and may ask for, is ``server.pem`` in the folder."""
    pem = self_signed(folder / "server.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    context.load_verify_locations(pem)
    context.verify_mode = verify
    articles = {f"/{name}.html": html(name, f"<p>The harbour of {name}, and its ships.</p>") for name in NAMES}
    with serving(Site({"/": html("Harbour", links(*articles)), **articles}), tls=context) as site:
        yield f"https://127.0.0.1:{site.port}/", site


@pytest.mark.parametrize(("certificates", "pages"), [("verify", 0), ("accept", 6)])
def test_what_was_wrong_stands_in_archive_summary_and_report(tmp_path: Path, certificates: str, pages: int) -> None:
    with secured(tmp_path) as (seed, site):
        network = {"allow_private": True, "hosts": {"127.0.0.1": {"certificates": certificates}}}
        crawled = crawl(tmp_path, [seed], network=network, topic={"keywords": ["harbour"]})
    assert bool(site.asked) is bool(pages)
    said, written = crawled.summary, everything_written(crawled.folder)
    assert (b"AAH-TLS-Problem: self-signed certificate\r\n" in written) is bool(pages)
    assert bool(said["unverified"]) is bool(pages)
    if pages:
        assert said["unverified"] == {"self-signed certificate": said["answers"]}
        assert_whole(crawled.folder)
        assert aah("archive", "check", crawled.folder).code == 0
        aah("report", crawled.folder)
        assert "self-signed certificate" in (crawled.folder / "report.html").read_text("utf-8")
    else:
        assert said["seeds"][0]["verdict"] == "certificate not accepted"


def test_others_must_not_read_the_key(tmp_path: Path) -> None:
    with secured(tmp_path, ssl.CERT_REQUIRED) as (seed, _):
        own = dict.fromkeys(("ca_file", "client_certificate"), str(tmp_path / "server.pem"))
        more = f"network: {json.dumps({'allow_private': True, 'hosts': {'127.0.0.1': own}})}\n"
        definition = write_icd(tmp_path, seed)
        text = "".join(line for line in definition.read_text().splitlines(True) if not line.startswith("network:"))
        definition.write_text(text + more)
        assert aah("crawl", definition).code == 0
        assert summary(tmp_path / "crawl")["seeds"][0]["verdict"] in {"fetched", "off topic"}
        (tmp_path / "server.pem").chmod(0o640)
        checked = aah("icd", "check", "--offline", definition)
        assert (checked.code, "a crawl on this machine needs what is named above" in checked.out) == (0, True)
        assert "client_certificate: names a file with a key, which others may read" in checked.err
        assert f"chmod 600 {tmp_path / 'server.pem'}" in checked.err
        assert aah("crawl", definition).code == 2
