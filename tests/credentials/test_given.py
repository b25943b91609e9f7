"""Secrets are read where the definition says that they are, and nothing else tells them."""

from pathlib import Path

import pytest

from aahcrawler.credentials.given import Credentials, Masks, read_credentials, spellings
from online_analysis.icd import Icd, IcdError

WORD = 'tür & "Tor"'


def read(network: str) -> Credentials:
    text = f"id: a\ncontact: a@b.org\nseeds: [https://forum.test/]\ntopic: {{keywords: [sun]}}\nnetwork: {network}\n"
    return read_credentials(Icd.parse(text.encode()))


def secret_file(folder: Path, mode: int, text: str = WORD) -> Path:
    file = folder / "secret"
    file.write_text(text + "\n", "utf-8")
    file.chmod(mode)
    return file


def test_a_secret_comes_from_the_environment_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AAH_TEST_WORD", WORD)
    file = secret_file(tmp_path, 0o600)
    given = read(
        f"{{accounts: {{a.test: {{user: me, password: {{env: AAH_TEST_WORD}}}},"
        f" b.test: {{user: me, password: {{file: {file}}}}}}}}}"
    )
    assert {host: password.word for host, password in given.passwords.items()} == {"a.test": WORD, "b.test": WORD}
    assert WORD not in repr(given)
    assert {"a.test", "b.test"} <= given.sites


@pytest.mark.parametrize(
    ("mode", "text", "said"),
    [(0o644, WORD, "its mode is 0644"), (0o640, WORD, "its mode is 0640"), (0o600, "", "is empty")],
)
def test_files_that_are_not_fit_are_refused(mode: int, text: str, said: str, tmp_path: Path) -> None:
    file = secret_file(tmp_path, mode, text)
    with pytest.raises(IcdError, match=said) as refused:
        read(f"{{accounts: {{a.test: {{user: me, password: {{file: {file}}}}}}}}}")
    assert WORD not in str(refused.value)
    assert "network.accounts.a.test.password" in str(refused.value)


def test_all_that_is_missing_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AAH_TEST_WORD", raising=False)
    with pytest.raises(IcdError) as refused:
        read(
            "{headers: {a.test: {X-Key: {env: AAH_TEST_WORD}, X-Token: {file: /no/such/file}}},"
            " proxy: {url: 'http://p.test', password: {env: AAH_TEST_WORD}},"
            " hosts: {a.test: {client_certificate: /c.pem, client_passphrase: {env: AAH_TEST_WORD},"
            " proxy: {url: 'http://p.test', password: {file: /no/such/file}}}}}"
        )
    assert {mistake.field.removeprefix("network.") for mistake in refused.value.mistakes} == {
        "headers.a.test.X-Key",
        "headers.a.test.X-Token",
        "proxy.password",
        "hosts.a.test.client_passphrase",
        "hosts.a.test.proxy.password",
    }
    assert {mistake.line for mistake in refused.value.mistakes} == {5}
    assert "set AAH_TEST_WORD for the process that crawls" in str(refused.value)


@pytest.mark.parametrize(
    ("network", "said"),
    [
        ("{accounts: {a.test: {user: me, password: hunter2}}}", "plain text"),
        ("{headers: {a.test: {Authorization: Bearer hunter2}}}", "plain text"),
        ("{headers: {a.test: {X-Api-Key: hunter2}}}", "plain text"),
        ("{logins: [{url: 'https://a.test/', fields: {passwort: hunter2}, logged_in: x}]}", "plain text"),
        ("{headers: {a.test: {Host: hunter2}}}", "cannot be given"),
        ("{logins: [{url: 'http://a.test/', fields: {a: hunter2}, logged_in: x}]}", "without encryption"),
        ("{cookies: off, logins: [{url: 'https://a.test/', fields: {a: hunter2}, logged_in: x}]}", "needs them"),
        ("{logins: [{url: 'https://a.test/', fields: {a: hunter2}, logged_in: 'css=a['}]}", "cannot be understood"),
    ],
)
def test_definitions_that_would_tell_a_secret_are_refused(network: str, said: str) -> None:
    with pytest.raises(IcdError, match=said) as refused:
        read(network)
    assert "hunter2" not in str(refused.value)


def test_secrets_of_proxies_and_certificates_are_among_those_that_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AAH_TEST_WORD", WORD)
    monkeypatch.setenv("AAH_TEST_PHRASE", "a phrase")
    given = read(
        "{proxy: {url: 'http://p.test', user: me, password: {env: AAH_TEST_WORD}},"
        " hosts: {a.test: {client_certificate: /c.pem, client_passphrase: {env: AAH_TEST_PHRASE}}}}"
    )
    assert given.secrets == {WORD, f"me:{WORD}", "a phrase"}
    assert not given.sites


def test_a_secret_is_masked_however_it_is_written() -> None:
    masks = Masks({WORD})
    for written in spellings(WORD):
        assert masks.masked_text(f"<{written}>") == "<REDACTED>"
    assert masks.masked(f"<{WORD}>".encode("latin-1")) == b"<REDACTED>"
    assert Masks({"abc"}).masked_text("the abc of it") == "the abc of it"
