"""The benchmark of sites on the web: proxies that others made, and what is left out where they are missing."""

import shutil

import pytest
from benchmarks.liveweb import chosen, measure
from benchmarks.proxy_servers import SERVERS


def test_cases_whose_proxy_is_not_installed_are_left_out_aloud(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, **_: None if name == "tinyproxy" else f"/bin/{name}")
    assert [*chosen(["login", "tinyproxy-login", "squid", "proxy-login"])] == ["login", "squid", "proxy-login"]
    assert capsys.readouterr().err == "tinyproxy-login: left out, since tinyproxy is not installed\n"


@pytest.mark.slow
@pytest.mark.starts
@pytest.mark.parametrize("case", ["tinyproxy-login", "danted-tls"])
def test_a_site_is_read_through_a_proxy_that_others_made(case: str) -> None:
    program = case.partition("-")[0]
    if SERVERS[program].path is None:
        pytest.skip(f"{program} is not installed")
    row = measure(case)
    assert (row["reached"], row["verdict"], row["leaks"], row["exit_code"]) == (5, "fetched", "", 0)


@pytest.mark.soak
@pytest.mark.starts
def test_a_leak_is_a_row_that_is_not_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.liveweb.SESSION", "The harbour of north")
    row = measure("header")
    assert row["reached"] == 5
    assert "archive/" in str(row["leaks"])
