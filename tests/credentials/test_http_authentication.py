"""What is sent to servers that ask who is there; the examples are those of RFC 7616, section 3.9.1."""

import pytest

from aahcrawler.credentials.http_authentication import HostAuthentication, challenges

URL = "http://www.example.org/dir/index.html"
REST = (
    'realm="http-auth@example.org", qop="auth, auth-int", algorithm={}, '
    'nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"'
)
MD5, SHA256 = (f"Digest {REST.format(name)}" for name in ("MD5", "SHA-256"))


def mufasa() -> HostAuthentication:
    return HostAuthentication("Mufasa", "Circle of Life", lambda: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")


@pytest.mark.parametrize(
    ("asked", "response"),
    [
        ([MD5], "8ca523f5e9506fed4657c9700eebdbec"),
        ([SHA256], "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ([MD5, SHA256], "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ([f"{MD5}, {SHA256}"], "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        (['Basic realm="x"', SHA256], "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ],
)
def test_a_digest_is_that_of_the_standard(asked: list[str], response: str) -> None:
    known = mufasa()
    assert known.take(asked, was_answered=False)
    sent = known.header("GET", URL)
    assert f'response="{response}"' in sent
    assert 'uri="/dir/index.html"' in sent
    assert "nc=00000001" in sent


def test_uses_of_a_nonce_are_counted() -> None:
    known = mufasa()
    known.take([SHA256], was_answered=False)
    counts = [known.header("GET", URL).partition("nc=")[2] for _ in range(3)]
    assert counts == ["00000001", "00000002", "00000003"]


def test_nothing_is_sent_before_a_server_asks_and_then_what_it_asks_for() -> None:
    known = HostAuthentication("Aladdin", "open sesame")
    assert known.header("GET", URL) == ""
    assert known.take(['Basic realm="x", charset="UTF-8"'], was_answered=False)
    assert known.header("GET", URL) == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="


def test_a_wrong_password_is_not_sent_twice_and_a_stale_nonce_is_replaced() -> None:
    known = mufasa()
    known.take([SHA256], was_answered=False)
    assert not known.take([SHA256], was_answered=True)
    assert known.take([f"{SHA256}, stale=TRUE"], was_answered=True)


@pytest.mark.parametrize("asked", ["", "Negotiate", "Bearer realm=x", "Digest realm=x", 'Digest realm="unended', "=,="])
def test_what_cannot_be_answered_is_not(asked: str) -> None:
    known = mufasa()
    assert not known.take([asked], was_answered=False)
    assert known.header("GET", URL) == ""


def test_a_digest_without_quality_of_protection_is_that_of_old_servers() -> None:
    known = HostAuthentication("Mufasa", "CircleOfLife", lambda: "c")
    known.take(['Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093"'], was_answered=False)
    assert 'response="1949323746fe6a43ef61f9606e7febea"' in known.header("GET", URL)


def test_several_challenges_in_one_field_are_told_apart() -> None:
    found = challenges(['Newauth realm="apps", type=1, title="Login to \\"apps\\"", Basic realm="simple", Negotiate'])
    assert [(each.scheme, dict(each.parameters)) for each in found] == [
        ("newauth", {"realm": "apps", "type": "1", "title": 'Login to "apps"'}),
        ("basic", {"realm": "simple"}),
        ("negotiate", {}),
    ]
