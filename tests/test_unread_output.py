"""A command whose output nobody reads on ends quietly, and other broken pipes are told."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
import typer

from aahcrawler.cli import main
from aahcrawler.exits import MISTAKE, UNREAD, exit_on_error


@contextmanager
def unread(*arguments: str) -> Iterator[None]:
    """Have standard output go to a pipe that nobody reads, and these be the command's arguments."""
    reading, writing = os.pipe()
    os.close(reading)
    output = os.fdopen(writing, "w", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", output)
        patch.setattr(sys, "argv", ["aah", *arguments])
        yield
    with suppress(BrokenPipeError):
        output.close()


def test_a_command_ends_quietly_with_the_code_of_the_signal(capsys: pytest.CaptureFixture[str]) -> None:
    with unread("query", "no-crawl", "--list"), pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, capsys.readouterr().err) == (UNREAD, "") == (141, "")


def test_it_is_no_mistake_of_the_user(capsys: pytest.CaptureFixture[str]) -> None:
    with unread(), pytest.raises(BrokenPipeError), exit_on_error(OSError):
        typer.echo("x")
    assert capsys.readouterr().err == ""


def test_another_broken_pipe_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, exit_on_error(OSError):
        raise BrokenPipeError(32, "Broken pipe")
    assert ended.value.exit_code == MISTAKE
    assert "Broken pipe" in capsys.readouterr().err
