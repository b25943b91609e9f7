"""Who is signed in to the cockpit."""

import logging
import re

import pytest

from aahcrawler.service.cockpit.sign_in import SESSION_SECONDS, SIGNS, SignIn
from aahcrawler.service.web.roles import LOCAL, Caller, Named, Role, Tokens

READER = Caller("reader", frozenset({Role.READ}))


class Clock:
    """A clock that tests put forward."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_code_is_good_for_one_sign_in_and_the_next_one_is_told() -> None:
    told: list[str] = []
    door = SignIn(Tokens().caller, told.append, LOCAL)
    first = door.code
    cookie = door.enter(f" {first.lower().replace('-', ' ')} ")
    assert cookie is not None
    session = door.session(cookie)
    assert session is not None
    assert session.caller == LOCAL
    assert door.enter(first) is None
    assert told == [door.code] != [first]
    assert door.enter(door.code) is not None


def test_codes_have_no_sign_that_is_easily_taken_for_another() -> None:
    assert not set("01OIL") & set(SIGNS)
    assert re.fullmatch(rf"[{SIGNS}]{{4}}(-[{SIGNS}]{{4}}){{2}}", SignIn(Tokens().caller).code)


def test_where_no_code_is_given_out_none_is_taken() -> None:
    door = SignIn(Tokens().caller)
    assert door.enter(door.code) is None


def test_a_token_brings_its_roles() -> None:
    door = SignIn(Tokens([Named("the token of a reader", READER)]).caller)
    cookie = door.enter("the token of a reader")
    assert cookie is not None
    session = door.session(cookie)
    assert session is not None
    assert session.caller == READER


def test_nobody_is_signed_in_for_a_minute_after_ten_wrong_guesses() -> None:
    clock = Clock()
    door = SignIn(Tokens().caller, code_caller=LOCAL, clock=clock)
    assert [door.enter("wrong") for _ in range(10)] == [None] * 10
    assert door.is_closed()
    assert door.enter(door.code) is None
    clock.now += 61
    assert door.enter(door.code) is not None


def test_sessions_end_when_they_are_left_or_old_and_the_oldest_where_there_are_too_many() -> None:
    clock = Clock()
    door = SignIn(Tokens([Named("the token of a reader", READER)]).caller, clock=clock)
    cookies = [str(door.enter("the token of a reader")) for _ in range(201)]
    assert len(set(cookies)) == 201
    assert door.session(cookies[0]) is None
    assert door.session(cookies[1]) is not None
    door.leave(cookies[1])
    assert door.session(cookies[1]) is None
    clock.now += SESSION_SECONDS + 1
    assert door.session(cookies[2]) is None
    assert door.session("") is None


def test_a_form_is_taken_of_its_own_session_alone() -> None:
    door = SignIn(Tokens([Named("the token of a reader", READER)]).caller)
    one, other = (door.session(str(door.enter("the token of a reader"))) for _ in range(2))
    assert one is not None
    assert other is not None
    assert one.accepts(one.form_secret)
    assert not one.accepts(other.form_secret)
    assert not one.accepts("")


def test_who_signed_in_and_who_was_refused_is_logged_without_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    anna = Caller("anna", frozenset({Role.READ, Role.OPERATE}))
    sign_in = SignIn({"annas-token-0123456789": anna}.get)
    sign_in.enter("not-her-token")
    cookie = sign_in.enter("annas-token-0123456789")
    assert cookie is not None
    sign_in.leave(cookie)
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "sign-in refused: a wrong code or token, 1 within a minute",
        "anna signed in (operate, read)",
        "anna signed out",
    ]
