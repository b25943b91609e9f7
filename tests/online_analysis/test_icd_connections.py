"""Proxies, certificates and secrets in an ICD."""

from pathlib import Path

import pytest

from online_analysis.icd import Icd, IcdError
from online_analysis.icd.connections import ProxySection
from online_analysis.icd.secrets import Secret, SecretError

BEGIN = "id: a\ncontact: a@b.org\nseeds: [http://a.test/]\ntopic: {keywords: [sun]}\n"
WORD = "a-word-that-nobody-sees"


def parsed(network: str) -> Icd:
    return Icd.parse(f"{BEGIN}network: {network}\n".encode())


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("http://Proxy.Example.org", "http://proxy.example.org:8080"),
        ("socks5h://127.0.0.1:9050/", "socks5h://127.0.0.1:9050"),
        ("socks5://[::1]", "socks5://[::1]:1080"),
        ("direct", "direct"),
        ("{url: 'http://p.test:3128', plain: forward}", "http://p.test:3128"),
    ],
)
def test_urls_of_proxies(written: str, url: str) -> None:
    proxy = parsed(f"{{proxy: {written if written[0] == '{' else repr(written)}}}").network.proxy
    assert isinstance(proxy, ProxySection)
    assert proxy.url == url


@pytest.mark.parametrize(
    ("network", "said"),
    [
        ("{proxy: 'https://p.test:1'}", "is no URL of a proxy"),
        ("{proxy: 'ftp://p.test'}", "is no URL of a proxy"),
        ("{proxy: 'http://me:word@p.test'}", "holds a user name"),
        ("{proxy: 'http://p.test/path'}", "has more than a host and a port"),
        ("{proxy: 'http://p.test:99999'}", "is no URL of a proxy"),
        (f"{{proxy: {{url: 'http://p.test', password: {WORD}}}}}", "plain text"),
        ("{proxy: {url: 'http://p.test', password: {env: A, file: /b}}}", "or several"),
        ("{hosts: {a.test: {client_key: /key.pem}}}", "no client certificate"),
        ("{hosts: {a.test: {ca_file: ca.pem}}}", "is no whole path"),
        ("{hosts: {a.test: {client_certificate: /c, client_passphrase: {file: word}}}}", "is no whole path"),
        ("{hosts: {a.test: {certificates: maybe}}}", "is not among the choices"),
    ],
)
def test_mistakes_are_told_without_the_secret(network: str, said: str) -> None:
    with pytest.raises(IcdError, match=said) as caught:
        parsed(network)
    assert WORD not in str(caught.value)
    assert ":word@" not in str(caught.value)


def test_files_are_named_by_their_whole_paths() -> None:
    network = "{hosts: {a.test: {ca_file: ~/ca.pem, client_certificate: /c.pem, client_passphrase: {file: ~/word}}}}"
    own = parsed(network).network.hosts["a.test"]
    assert (own.ca_file, own.client_certificate) == ("~/ca.pem", "/c.pem")
    assert own.client_passphrase == Secret(file="~/word")


def test_what_is_written_is_read_back() -> None:
    icd = parsed("{proxy: {url: 'http://p.test', user: me, password: {env: A}}, hosts: {a.test: {proxy: direct}}}")
    assert Icd.parse(icd.to_yaml().encode()).network == icd.network


def test_secrets_are_where_they_are_and_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_WORD", WORD)
    secret = tmp_path / "word"
    secret.write_text(f"{WORD}\n")
    secret.chmod(0o600)
    for where in (Secret(env="A_WORD"), Secret(file=str(secret))):
        assert where.reveal() == WORD
        assert WORD not in f"{where!r}{where}{where.model_dump_json()}"


def test_secrets_that_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_WORD", raising=False)
    shared, empty = tmp_path / "shared", tmp_path / "empty"
    shared.write_text(WORD)
    shared.chmod(0o644)
    empty.touch(0o600)
    wrong = {
        "variable NO_WORD, which is not set": Secret(env="NO_WORD"),
        "others may read": Secret(file=str(shared)),
        "is empty": Secret(file=str(empty)),
        "Is a directory": Secret(file=str(tmp_path)),
        "cannot be read": Secret(file=str(tmp_path / "nothing")),
    }
    for said, where in wrong.items():
        with pytest.raises(SecretError, match=said) as caught:
            where.reveal()
        assert WORD not in str(caught.value)
