"""Dates as pages of many languages show them: months, weekdays, halves of the day, calendars."""

from typing import Final

from benchmarks.wildweb.case import Case, WantedObject
from benchmarks.wildweb.dated_pages import Board, block_board, phpbb_board, posts, table_board
from benchmarks.wildweb.pages import html
from benchmarks.wildweb.tongues import SENTENCES

KIND: Final = "dates shown by language"
_TUESDAYS: Final = (13, 20, 27)
"""Of March 2001."""
_AUGUST: Final = (14, 21, 28)
_DECEMBER: Final = (11, 18, 25)
_PERSIAN: Final = {16: "2001-03-06", 23: "2001-03-13", 30: "2001-03-20"}
"""Tuesdays of Esfand 1379, a leap year, in the Gregorian calendar."""
_SEED: Final = "/topic.php?t=7"


def _thread(
    name: str,
    lang: str,
    template: str,
    right: str = "2001-03-{d}",
    *,
    days: tuple[int, ...] = _TUESDAYS,
    board: Board = table_board,
    or_none: bool = False,
    digits: str = "",
    aside: bool = False,
) -> Case:
    """Return a thread of three posts whose dates differ in the day, which ``{d}`` stands for.

    ``right`` is what their dates begin with; ``or_none`` if no date is right as well. ``digits`` are those of the
    page's script.
    """
    shown = [template.format(d=day) for day in days]
    if digits:
        shown = [each.translate(str.maketrans("0123456789", digits)) for each in shown]
    seed = "/viewtopic.php?t=7" if board is phpbb_board else _SEED
    page = board(f"Boats of the {name}", lang, posts(lang, shown))
    none = (None,) if or_none else ()
    wanted = [
        WantedObject(seed, words[:24].strip(), (_PERSIAN[day] if right == "Persian" else right.format(d=day), *none))
        for day, words in zip(days, SENTENCES[lang], strict=True)
    ]
    links = r".*viewtopic\.php\?.*|.*memberlist\.php.*"
    return Case(
        KIND,
        f"tongue-{name}",
        {seed: html(page)},
        may=links if board is phpbb_board else "",
        objects=wanted,
        seeds=(seed,),
        aside=aside,
    )


_AT_TWO: Final = "2001-03-{d}T14:05"
CASES: Final = (
    _thread("en-hyphens", "en", "{d}-Mar-2001 14:05", _AT_TWO),
    _thread("en-short-year", "en", "{d}-Mar-01 14:05", _AT_TWO),
    _thread("en-zone", "en", "{d} March 2001 14:05 AEST", board=block_board),
    _thread("en-ubb", "en", "posted March {d}, 2001 02:05 PM", _AT_TWO),
    _thread("en-ubb-numbers", "en", "posted 03-{d}-2001 02:05 PM", _AT_TWO),
    _thread("en-yabb", "en", "Reply #1 on: 03/{d}/01 at 14:05:30"),
    _thread("en-localtime", "en", "Tue Mar {d} 14:05:30 2001", _AT_TWO, board=block_board),
    _thread("en-guestbook", "en", "Tuesday, March {d}, 2001 at 14:05:30 (EST)", _AT_TWO, board=block_board),
    _thread("en-unix", "en", "Tue Mar {d} 14:05:30 CET 2001", _AT_TWO),
    _thread("en-phpbb-hyphens", "en", "{d}-Mar-2001 14:05", _AT_TWO, board=phpbb_board),
    _thread("es-twice", "es", "Mar Mar {d}, 2001 2:05 pm", _AT_TWO),
    _thread("es-twice-phpbb", "es", "Mar Mar {d}, 2001 2:05 pm", _AT_TWO, board=phpbb_board),
    _thread("es-words", "es", "Martes, {d} de marzo de 2001, 14:05"),
    _thread("fr-twice", "fr", "Mar {d} Mar 2001, 14:05", board=block_board),
    _thread("fr-twice-american", "fr", "Mar Mar {d}, 2001 2:05 pm", _AT_TWO, board=phpbb_board),
    _thread("fr-h", "fr", "le mardi {d} mars 2001 à 14h05", _AT_TWO),
    _thread("it-twice", "it", "mar mar {d}, 2001 2:05 pm", _AT_TWO),
    _thread("ro-twice", "ro", "Mar Mar {d}, 2001 2:05 pm", _AT_TWO, board=block_board),
    _thread("ro-words", "ro", "marți, {d} martie 2001, 14:05"),
    _thread("tr-short", "tr", "Sal Mar {d}, 2001 2:05 pm", _AT_TWO),
    _thread("tr-short-phpbb", "tr", "Sal Mar {d}, 2001 2:05 pm", _AT_TWO, board=phpbb_board),
    _thread("tr-long", "tr", "{d} Mart 2001 Salı 14:05"),
    _thread("th-gregorian", "th", "{d} มี.ค. 2001 14:05", or_none=True),
    _thread("th-buddhist", "th", "{d} มีนาคม 2544 14:05", board=block_board),
    _thread("th-buddhist-short", "th", "อ. {d} มี.ค. 2544 14:05", board=phpbb_board),
    _thread("fa-words", "fa", "سه‌شنبه {d} اسفند 1379، 14:05", "Persian", days=(16, 23, 30), digits="۰۱۲۳۴۵۶۷۸۹"),
    _thread("fa-numbers", "fa", "1379/12/{d} 14:05", "Persian", days=(16, 23, 30), or_none=True),
    _thread("ja-numbers", "ja", "01/03/{d} 14:05", or_none=True),
    _thread("ja-year", "ja", "2001年3月{d}日(火) 14:05", board=block_board),
    _thread("ja-era", "ja", "平成13年3月{d}日 14:05"),
    _thread("ja-era-short", "ja", "H13.3.{d} 14:05", or_none=True),
    _thread("ja-afternoon", "ja", "2001年3月{d}日 午後2:05", _AT_TWO),
    _thread("zh-numbers", "zh", "01/03/{d} 14:05", or_none=True),
    _thread("zh-afternoon", "zh", "2001年3月{d}日 下午2:05", _AT_TWO, board=block_board),
    _thread("zh-discuz", "zh-TW", "發表於 2001-3-{d} 02:05 PM", _AT_TWO),
    _thread("ko-numbers", "ko", "01/03/{d} 14:05", or_none=True),
    _thread("ko-afternoon", "ko", "2001년 3월 {d}일 오후 2:05", _AT_TWO),
    _thread("ar-afternoon", "ar", "{d} مارس 2001 2:05 م", _AT_TWO),
    _thread("ar-levant", "ar", "{d} آذار 2001 2:05 ص", "2001-03-{d}T02:05", board=block_board),
    _thread("ar-digits", "ar", "الثلاثاء {d} مارس 2001، 2:05 م", _AT_TWO, digits="٠١٢٣٤٥٦٧٨٩"),
    _thread("he-month", "he", "יום שלישי, {d} במרץ 2001, 14:05"),
    _thread("hi-month", "hi", "{d} मार्च 2001, 14:05", board=block_board),
    _thread("lt-month", "lt", "2001 m. kovo {d} d. 14:05"),
    _thread("lv-month", "lv", "{d}. marts 2001, 14:05", board=block_board),
    _thread("vi-month", "vi", "{d} Tháng 3 2001, 14:05"),
    _thread("el-afternoon", "el", "Τρί Μαρ {d}, 2001 2:05 μμ", _AT_TWO),
    _thread("hu-month", "hu", "2001. március {d}., kedd 14:05"),
    _thread("eu-month", "eu", "2001(e)ko martxoaren {d}a, 14:05", board=block_board),
    _thread("fi-month", "fi", "{d}. maaliskuuta 2001, 14:05"),
    _thread("cs-month", "cs", "{d}. března 2001 14:05"),
    _thread("ru-weekday", "ru", "Вт мар {d}, 2001 2:05 pm", _AT_TWO),
    _thread("id-month", "id", "{d} Agt 2001, 14:05", "2001-08-{d}", days=_AUGUST, aside=True),
    _thread("tr-august", "tr", "Sal Ağu {d}, 2001 2:05 pm", "2001-08-{d}T14:05", days=_AUGUST, aside=True),
    _thread("gl-month", "gl", "{d} de decembro de 2001, 14:05", "2001-12-{d}", days=_DECEMBER, aside=True),
    _thread("lt-weekday", "lt", "Antradienis, 2001 Gruodžio {d}, 14:05", "2001-12-{d}", days=_DECEMBER, aside=True),
    _thread("lv-august", "lv", "Otrdiena, {d}. augusts, 2001 14:05", "2001-08-{d}", days=_AUGUST, aside=True),
    _thread("th-december", "th", "อังคาร {d} ธันวาคม 2544", "2001-12-{d}", days=_DECEMBER, aside=True),
    _thread("vi-weekday", "vi", "Thứ ba, {d} tháng 8, 2001", "2001-08-{d}", days=_AUGUST, aside=True),
    _thread("ja-reiwa", "ja", "令和3年3月{d}日 14:05", "2021-03-{d}", aside=True),
    _thread("uk-month", "uk", "{d} серпня 2001, 14:05", "2001-08-{d}", days=_AUGUST, aside=True),
    _thread("pl-month", "pl", "{d} gru 2001, 14:05", "2001-12-{d}", days=_DECEMBER, aside=True),
    _thread("hr-month", "hr", "{d}. kolovoza 2001. 14:05", "2001-08-{d}", days=_AUGUST, aside=True),
    _thread("ca-month", "ca", "dt. {d} des. 2001, 14:05", "2001-12-{d}", days=_DECEMBER, aside=True),
)
