"""The lines that forums and mail programs put before a quote: whose words follow, and when they were written.

Nobody says them: taken for a text, they would be events on the days of posts, and people called after weekdays. They
are told by what the language packs of phpBB, MyBB, SMF, vBulletin, XenForo and Discourse write, and by what mail
programs do.
"""

import re
from datetime import UTC, datetime
from typing import Final

from aahcrawler.page.dates import read_date

_MAX_LENGTH: Final = 160
_MAX_NAME: Final = 60
_MAX_WORDS: Final = 6
_SAYS: Final = re.compile(
    r"(?<!\w)(?:wrote|writes|said|hat geschrieben|schrieb|a écrit|écrivait|a dit|escribió|ha escrit|dijo|ha scritto|"
    r"ha detto|schreef|zei|escreveu|disse|pisze|napisał(?:a|\(a\))?|píše|napsal(?:a|\(a\))?|skrev|sa|kirjoitti|sanoi|"
    r"írta|yazdı|a scris|писал(?:а|\(а\))?|написал(?:а|\(а\))?|сказал(?:а|\(а\))?|писав|έγραψε)\s*[:：]",
    re.IGNORECASE,
)
"""What stands behind a name."""
_FROM: Final = re.compile(
    r"\W*(?:quote from|originally posted by|zitat von|citation de|envoyé par|cita de|iniciado por|"
    r"originalmente publicado por|citazione da|originariamente inviata da|citaat van|oorspronkelijk geplaatst door|"
    r"citação de|postado originalmente por|цитата)(?!\w)",
    re.IGNORECASE,
)
"""What stands before a name."""
_MAIL: Final = re.compile(
    r"\W*(?:am|op|den|på) [^\n]{4,60}\d{1,2}[:.]\d{2}[^\n]{0,20} (?:schrieb|schreef|skrev) [^\n:]{1,80}:\W*",
    re.IGNORECASE,
)
"""What mail programs write in languages in which the name comes last."""
_ALONE: Final = re.compile(
    r"\W*(?:quote|zitat|citation|cita|citazione|citaat|citação|цитата|click to expand|view post)\W*", re.IGNORECASE
)
_MOMENT: Final = re.compile(r"\([^()]*\d[^()]*\)\s*")
_CLOCK: Final = re.compile(r"\d{1,2}[:.h]\d{2}(?!\d)")
_SIGNS: Final = " \u00a0\t↑»«>|·•,-–—→➥"


def without_quote_heads(text: str) -> str:
    r"""Return a text with blanks in the place of lines that say whose words follow, and when; its length stays.

    >>> without_quote_heads("Ann Lee wrote: Fri Mar 02, 2018 10:00 am\nIt is shut.\nAnn wrote: it is not.")
    '                                        \nIt is shut.\nAnn wrote: it is not.'
    """
    lines, is_head = text.split("\n"), False
    for number, line in enumerate(lines):
        is_head = is_quote_head(line) or (is_head and len(line) <= _MAX_NAME and _is_date(line))
        if is_head:
            lines[number] = " " * len(line)
    return "\n".join(lines)


def _may_stand_alone(line: str) -> bool:
    is_from = _FROM.match(line) and not line.rstrip().endswith((".", "!", "?"))
    return bool(is_from or _MAIL.fullmatch(line) or (len(line) <= _MAX_NAME and _ALONE.fullmatch(line)))


def is_quote_head(line: str) -> bool:
    """Return whether a line says whose words follow, and nothing else.

    >>> heads = "(05-05-2018, 10:00 AM)Ann Wrote:", "Zitat von: Ann am 2. Mai 2018", "Quote:"
    >>> [is_quote_head(line) for line in heads]
    [True, True, True]
    >>> [is_quote_head(line) for line in ("The mayor said: 3 houses are lost", "Quote them, then", "")]
    [False, False, False]
    """
    if len(line) > _MAX_LENGTH:
        return False
    if _may_stand_alone(line):
        return True
    said = _SAYS.search(line)
    if said is None:
        return False
    before, behind = line[: said.start()], line[said.end() :].strip(_SIGNS)
    name = _MOMENT.sub("", before, count=1).strip(_SIGNS)
    is_of_mail = "@" in name or _CLOCK.search(name) is not None
    is_name = bool(name) and (is_of_mail or (len(name) <= _MAX_NAME and len(name.split()) <= _MAX_WORDS))
    return is_name and (not behind or _is_date(behind))


def _is_date(text: str) -> bool:
    return read_date(text.strip(_SIGNS), now=datetime.now(UTC)) is not None
