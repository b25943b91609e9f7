"""Recognise labels of a post's fields in tables, lists and lines: ``Author: X``, ``Reported by``."""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate, islice, zip_longest

from lxml.etree import _Element as Element

from aahcrawler.induction.outline import Outline, TextPiece
from aahcrawler.page.text import fold

MAX_LABEL_LENGTH = 40
MIN_TITLE = 4
MAX_ROW_LENGTH = 400
"""The most characters of a line, or of the row of a table, that has a label before a value."""

_MIN_KNOWN, _MIN_OTHER = 2, 3
"""The known labels in a block of which none is that of an author, a date or a title: the attributes of a ticket."""
MAX_VALUE_LENGTH = 160
"""A longer text in a block of labels is not the value of a field."""
_ENDS = (".", "!", "?", "…", "。")
_MIN_WORDS = 3
"""The fewest words in lower case of a sentence; a shorter text is a value: ``fixed in 1.2.``"""


class FieldLabel(StrEnum):
    """The meaning of a label for the value after it."""

    AUTHOR = "author"
    DATE = "date"
    TITLE = "title"
    OTHER = "other"
    """Another field that posts may have: the owner, the last change, the recipients."""


_AUTHOR = """
author|authors|by|from|posted by|written by|authored by|filed by|logged by|requested by|
reported by|reporter|submitted by|submitter|created by|creator|
opened by|added by|asked by|started by|sent by|sender|poster|originator|raised by|contributed by|comment by|
name|username|nickname|autor|autorin|von|verfasser|verfasserin|verfasst von|erstellt von|gemeldet von|absender|
geschrieben von|auteur|par|de|expéditeur|rapporteur|créé par|publié par|posté par|autora|remitente|creado por|
publicado por|por|informador|autore|da|mittente|scritto da|creato da|van|door|afzender|geplaatst door|av|af|fra|
från|skrevet av|skriven av|afsender|forfatter|författare|kirjoittaja|lähettäjä|autor wpisu|nadawca|od|przez|
автор|от|от кого|отправитель|odesílatel|feladó|szerző|gönderen|yazar|αποστολέας|
作者|发件人|寄件者|投稿者|差出人|작성자|글쓴이
"""
_DATE = """
date|posted|posted on|posted at|sent|submitted|submitted on|created|created on|created at|opened|opened on|
reported|reported on|date submitted|date posted|date added|uploaded|uploaded on|date uploaded|upload date|
added|added on|published|published on|written|time|when|on|at|
datum|gesendet|erstellt|erstellt am|geschrieben am|am|gemeldet|date de création|envoyé|le|créé le|posté le|
fecha|enviado|creado|publicado|el|data|inviato|creato|pubblicato|verzonden|geplaatst|dato|skickat|sendt|
päivämäärä|lähetetty|data wysłania|wysłano|dodano|дата|отправлено|создано|odesláno|tarih|ημερομηνία|日期|时间|日時|
投稿日|날짜|작성일
"""
_TITLE = """
subject|title|summary|topic|headline|betreff|titel|thema|objet|sujet|titre|asunto|título|oggetto|titolo|
onderwerp|ämne|emne|otsikko|aihe|temat|tytuł|тема|заголовок|předmět|tárgy|konu|θέμα|主题|标题|件名|題名|제목
"""
_OTHER = """
to|cc|bcc|reply-to|in-reply-to|in reply to|references|message-id|follow-ups|delivered-to|newsgroups|lists|list|
content-type|owner|owned by|assigned|assigned to|assignee|assigned person|handler|responsible|watchers|nosy|
nosy list|participants|qa contact|mentors|reviewer|reviewers|status|state|priority|severity|resolution|
milestone|target version|fixed in|version|component|components|product|project|category|type|keywords|tags|
labels|platform|os|hardware|reproducibility|view status|due|due date|start date|estimated time|% done|progress|
filename|file name|file size|filesize|dimensions|displayed|views|hits|visits|downloads|rating|rating score|
album|album name|camera|exposure|exposure time|aperture|focal length|dateiname|dateigröße|abmessungen|aufrufe|kamera|
superseder|depends on|blocks|attachments|importance|modified|an|kopie|antwort an|zugewiesen an|bearbeiter|
zuständig|zugewiesen|fällig|priorität|à|copie|assigné à|statut|priorité|para|asignado a|estado|prioridad|a|
assegnato a|stato|priorità|aan|toegewezen aan|till|til|komu|кому|назначена|статус|приоритет
"""
_TEXT = """
description|bug description|issue description|problem description|full description|detailed description|
description of the problem|details|message|message text|comment|comments|user comments|text|body|content|question|
beschreibung|fehlerbeschreibung|ausführliche beschreibung|nachricht|inhalt|description du problème|texte|contenu|
descripción|mensaje|contenido|descrizione|messaggio|contenuto|testo|descrição|mensagem|conteúdo|beschrijving|
omschrijving|bericht|inhoud|beskrivning|beskrivelse|meddelande|kuvaus|viesti|opis|wiadomość|treść|описание|сообщение|
текст|popis|zpráva|leírás|açıklama|mesaj|περιγραφή|μήνυμα|描述|内容|说明|説明|本文|설명|내용
"""
_TEXT_LABELS = frozenset(word.strip() for word in _TEXT.replace("\n", "").split("|"))
_WORDS: dict[str, FieldLabel] = {
    word.strip(): field
    for field, words in (
        (FieldLabel.OTHER, _OTHER),
        (FieldLabel.TITLE, _TITLE),
        (FieldLabel.DATE, _DATE),
        (FieldLabel.AUTHOR, _AUTHOR),
    )
    for word in words.replace("\n", "").split("|")
}
_CHANGED = re.compile(
    r"\b(?:edit(?:ed)?|modif\w*|updat\w*|last change|changed|clos(?:ed|ing)|resolved|revised|revision|completed|"
    r"expires|due|joined|registered|member since|"
    r"last (?:activity|active|reply|post|visit|seen|message|comment)|bearbeitet|geändert|änderung|"
    r"aktualisiert|geschlossen|mitglied seit|registriert|modifié|mis à jour|dernière|fermé|inscrit|última|"
    r"modificad\w|actualizad\w|editad\w|cerrado|registrado|ultima|aggiornat\w|modificat\w|chiuso|iscritto|"
    r"gewijzigd|bijgewerkt|bewerkt|gesloten|laatste|lid sinds|redigerad|ändrad|uppdaterad|redigeret|ændret|"
    r"opdateret|endret|muokattu|päivitetty|zmienion\w|edytowan\w|zamknięt\w|upraven\w|změněn\w|изменен\w?|"
    r"изменён\w?|отредактирован\w?|обновлен\w?|обновлено|düzenlen\w*|güncellen\w*)\b",
    re.IGNORECASE,
)
_MAX_CHANGES = 60
_OF_FIELD = re.compile(
    r"\W*(?:(?:was |has been |wurde )?"
    r"(?:changed|set|added|removed|deleted|modified|updated|unset|reset|geändert|gesetzt|"
    r"hinzugefügt|gelöscht|modifié|supprimé|ajouté|défini|cambiado|añadido|eliminado|gewijzigd|toegevoegd|verwijderd)\b|"
    r"→|⇒|->|=>)",
    re.IGNORECASE,
)
_TURNS = frozenset(("updated by", "changed by", "modified by", "aktualisiert von", "geändert von", "mis à jour par"))
_MARKS = " \t:\uff1a-–—*•·()[]|»«,.#"
LABEL_MARKS = " \t:\uff1a-–—*#"
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_CLAUSES = re.compile(r"[,;|•·()\[\]»«]|\s[-–—]\s|\.\s")
_LABELS = frozenset({"th", "dt", "label", "dfn"})
_MAX_BETWEEN, _MAX_AROUND = 50, 5
"""The most elements that are looked at between a label and its value, and around a label's words."""
_NOT_FILLED_IN = frozenset({"button", "checkbox", "hidden", "image", "radio", "reset", "submit"})
_ROWS = frozenset({"tr", "li", "dl", "p", "td", "th", "dd", "dt", "h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCKS = frozenset({"table", "ul", "dl", "tbody", "div", "p", "pre"})
_WRAPPERS = frozenset(
    {"b", "strong", "em", "i", "span", "small", "font", "a", "time", "abbr", "cite", "bdi", "code", "tt"}
)


def field_of(label: str) -> FieldLabel | None:
    """Return what a label says of the value after it; None for words that are no known label.

    >>> field_of("Reported by:"), field_of("Last edited by"), field_of("Owned by"), field_of("The harbour")
    (<FieldLabel.AUTHOR: 'author'>, <FieldLabel.OTHER: 'other'>, <FieldLabel.OTHER: 'other'>, None)
    """
    return _known_field(label) if len(label) <= MAX_LABEL_LENGTH else None


@lru_cache(maxsize=4096)
def _known_field(label: str) -> FieldLabel | None:
    words = " ".join(label.strip(_MARKS).casefold().split())
    return _WORDS.get(words) or (FieldLabel.OTHER if words and tells_of_change(words) else None)


def is_text_label(text: str) -> bool:
    """Return whether words announce a text.

    >>> is_text_label("Description:"), is_text_label("Status:")
    (True, False)
    """
    return len(text) <= MAX_LABEL_LENGTH and " ".join(text.strip(LABEL_MARKS).casefold().split()) in _TEXT_LABELS


def is_turn(words: str) -> bool:
    """Return whether words before a name tell who wrote by a change: trackers head notes with ``Updated by Ann``.

    >>> is_turn("Updated by"), is_turn("Last edited by")
    (True, False)
    """
    return words.strip(_MARKS).casefold() in _TURNS


def tells_of_change(text: str) -> bool:
    """Return whether words before a date or a name refer to a change or to the person, not to the writing.

    >>> tells_of_change("Last edited"), tells_of_change("Posted"), tells_of_change("Member since")
    (True, False, True)
    """
    return _CHANGED.search(text) is not None


def split_label(text: str) -> tuple[FieldLabel | None, str]:
    """Split a text into the field that its label names and the value after it; (None, the text) without a label.

    >>> split_label("Author: Ann Boyd"), split_label("Ann Boyd")
    ((<FieldLabel.AUTHOR: 'author'>, 'Ann Boyd'), (None, 'Ann Boyd'))
    """
    if ":" not in text and "\uff1a" not in text:
        return None, text
    head, mark, value = text.replace("\uff1a", ":", 1).partition(":")
    field = field_of(head) if mark and value.strip() else None
    return (field, value.strip()) if field is not None else (None, text)


def label_of(outline: Outline, place: int) -> FieldLabel | None:
    """Return the field that an element's label names: the label at its beginning, or before it in its line or row."""
    own, value = [*islice(outline.pieces_of(place), 2), None, None][:2]
    if own is not None and _is_of_control(outline, own, value):
        return None
    if own is not None and own.owner != place:
        field = _label_in(outline, place, own.owner, own.text)
        if field is not None:
            return field
    elif own is not None and (field := split_label(own.text)[0]) is not None:
        return field
    before = text_before(outline, place)
    return (field_of(before) or field_of(" ".join(before.split()[-2:]))) if before else None


def _label_in(outline: Outline, place: int, owner: int, text: str) -> FieldLabel | None:
    """Return the field named by an element at the beginning of another one: ``<em>From</em>: Ann``."""
    field, value = split_label(text)
    if field is not None and value:
        return field
    pieces = outline.pieces_of(place)
    next(pieces)
    following = next(pieces, None)
    is_label = text.rstrip().endswith((":", "\uff1a")) or outline.tags[owner] in _LABELS
    is_label = is_label or (following is not None and following.text.startswith((":", "\uff1a")))
    return field_of(text) if is_label and following is not None else None


def text_before(outline: Outline, place: int) -> str:
    """Return the last words before an element in its line, or in its row of a table; empty if there are none.

    Words before a control to fill in are that control's: ``Name [ ] required``.
    """
    number = outline.number_of_piece(place) - 1
    value = next(iter(outline.pieces_of(place)), None)
    for _ in range(2):
        if number < 0:
            return ""
        piece = outline.pieces[number]
        common = outline.common(place, piece.owner)
        if common < 0 or not _is_line(outline, common, place, piece.owner):
            return ""
        text = piece.text.strip()
        if text.strip(_MARKS):
            if _is_of_control(outline, piece, value):
                return ""
            return _CLAUSES.split(text.rstrip(_MARKS))[-1].strip()
        if text.strip(" ") not in (":", "\uff1a"):
            return ""
        number -= 1
    return ""


def _is_of_control(outline: Outline, label: TextPiece, value: TextPiece | None) -> bool:
    """Return whether an input is between a label and its value, or the label is ``for`` a field of a form."""
    fields = outline.once(0, _fields_of_forms)
    if not fields:
        return False
    around = (outline.elements[each] for each in islice(_between(outline, label.owner, -1), _MAX_AROUND))
    if any(each.tag == "label" and (each.get("for") or None) in fields for each in around):
        return True
    end = label.before if value is None else min(value.before, label.before + _MAX_BETWEEN)
    return any(each.tag == "input" and _is_filled_in(each) for each in outline.elements[label.before : end])


def _fields_of_forms(outline: Outline, _: int) -> frozenset[str | None]:
    """Return the ids of a page's fields to fill in; one that has no id counts as the id ""."""
    fields = outline.elements[0].iter("input", "select", "textarea")
    return frozenset(each.get("id") or "" for each in fields if _is_filled_in(each))


def _is_filled_in(element: Element) -> bool:
    return element.tag != "input" or element.get("type", "text").casefold() not in _NOT_FILLED_IN


def _is_line(outline: Outline, common: int, place: int, owner: int) -> bool:
    """Return whether two elements are in one line or row: only inline elements are between them and their ancestor."""
    if outline.free(common) + outline.linked(common) > MAX_ROW_LENGTH and outline.tags[common] in _ROWS:
        return False
    inner = {outline.tags[each] for at in (place, owner) for each in _between(outline, at, common)}
    if outline.tags[common] in ("tr", "dl"):
        return inner <= _WRAPPERS | _ROWS
    return inner <= _WRAPPERS or outline.free(common) + outline.linked(common) <= MAX_LABEL_LENGTH * 2


def _between(outline: Outline, place: int, above: int) -> Iterator[int]:
    """Yield the elements from a place up to, but without, one above it."""
    while place > above:
        yield place
        place = outline.parents[place]


def label_blocks(outline: Outline) -> tuple[int, ...]:
    """Return the outermost tables, lists and boxes that consist of labels of fields and their short values.

    Lists of changes count as well: ``Status changed from new to open``, each with the field set off.

    At least two of the labels are known, or three if none of these is that of an author, a date or a title, and each
    row has a label.
    """
    found: list[int] = []
    place = 0
    known, spoiled = _labels_in(outline)
    while place < len(outline.tags):
        end = outline.ends[place]
        may_hold_labels = known[end] - known[place] >= _MIN_KNOWN and spoiled[end] == spoiled[place]
        if outline.tags[place] in _BLOCKS and (
            (may_hold_labels and _is_label_block(outline, place)) or _is_change_block(outline, place)
        ):
            found.append(place)
            place = outline.ends[place]
        else:
            place += 1
    return tuple(found)


def _labels_in(outline: Outline) -> tuple[Sequence[int], Sequence[int]]:
    """Count, before each place, the labels of known fields, and the pieces that cannot be in a block of labels.

    The latter are long pieces, and headings that announce a text.
    """
    size = len(outline.tags)
    known, spoiled = [0] * (size + 1), [0] * (size + 1)
    for piece in outline.pieces:
        is_heading = outline.tags[piece.owner] in HEADINGS and is_text_label(piece.text)
        if piece.weight > MAX_VALUE_LENGTH or is_heading:
            spoiled[piece.owner + 1] += 1
        elif _told_by(outline, piece)[1] is not None:
            known[piece.owner + 1] += 1
    return tuple(accumulate(known)), tuple(accumulate(spoiled))


def _told_by(outline: Outline, piece: TextPiece) -> tuple[bool, FieldLabel | None]:
    """Return whether a piece of text is a label, or begins with one, and the field that it names."""
    told = split_label(piece.text)[0]
    if told is not None:
        return True, told
    tag = outline.tags[piece.owner]
    if tag in _LABELS or piece.text.rstrip().endswith((":", "\uff1a")):
        return True, field_of(piece.text)
    field = field_of(piece.text) if tag in _WRAPPERS else None
    return field is not None, field


def _is_label_block(outline: Outline, place: int) -> bool:
    size = outline.free(place) + outline.linked(place)
    if not 10 <= size <= 2_000 or outline.ends[place] - place > 300:
        return False
    known = labels = values = 0
    of_post = False
    told: set[str] = set()
    before: FieldLabel | None = None
    for piece in outline.pieces_of(place):
        text = piece.text
        if before is not FieldLabel.TITLE and _is_sentence(text):
            return False
        is_label, before = _told_by(outline, piece)
        if before is not None:
            of_post = of_post or before is not FieldLabel.OTHER
            label = text.partition(":")[0].strip().casefold()
            if label in told:
                return False
            told.add(label)
            known += 1
        labels += is_label
        values += not is_label or split_label(text)[0] is not None
    return (
        known >= (_MIN_KNOWN if of_post else _MIN_OTHER)
        and 3 * labels >= values
        and all(_has_label(outline, row) for row in _rows(outline, place))
    )


def _is_sentence(text: str) -> bool:
    """Return whether a text has several words in lower case, and ends as sentences do."""
    return text.endswith(_ENDS) and sum(map(str.islower, text.split())) >= _MIN_WORDS


def _is_change_block(outline: Outline, place: int) -> bool:
    """Return whether each item of a list begins with a few words that are set off and a note that they changed."""
    items = [each for each in outline.children(place) if outline.free(each) + outline.linked(each) > 0]
    if outline.tags[place] not in ("ul", "ol") or not 1 <= len(items) <= _MAX_CHANGES:
        return False
    return all(_is_change(outline, each) for each in items)


def _is_change(outline: Outline, item: int) -> bool:
    if outline.free(item) + outline.linked(item) > 2 * MAX_VALUE_LENGTH:
        return False
    first, *others = outline.pieces_of(item)
    is_set_off = outline.tags[first.owner] in _WRAPPERS | _LABELS and len(first.text) <= MAX_LABEL_LENGTH
    return is_set_off and bool(others) and _OF_FIELD.match(others[0].text) is not None


def _rows(outline: Outline, place: int) -> Iterator[int]:
    """Yield the rows of a table, or the items of a list, that show text."""
    for each in range(place, outline.ends[place]):
        if outline.tags[each] in ("tr", "li") and outline.free(each) + outline.linked(each) > 0:
            yield each


def _has_label(outline: Outline, row: int) -> bool:
    """Return whether a row begins with a label: a header cell, or words with a colon."""
    first = next(iter(outline.pieces_of(row)))
    return (
        outline.tags[first.owner] in _LABELS
        or ":" in first.text
        or label_of(outline, first.owner) is not None
        or field_of(first.text) is not None
    )


def labelled_title(outline: Outline, blocks: Iterable[int], page_title: str, *, is_sure: bool = False) -> str:
    """Return the value that a block of labels calls the title, if it is in the page's title; "" if there is none.

    With ``is_sure``, the only such value of the page is accepted in any case.
    """
    found = [told for block in blocks for told in _titles_in(outline, block) if len(told) >= MIN_TITLE]
    named = (told for told in found if fold(told).casefold() in fold(page_title).casefold())
    return next(named, found[0] if is_sure and len(found) == 1 else "")


def _titles_in(outline: Outline, block: int) -> Iterator[str]:
    """Yield the values of a block that have the label of a title."""
    pieces = list(outline.pieces_of(block))
    for piece, following in zip_longest(pieces, pieces[1:]):
        field, value = split_label(piece.text)
        if field is FieldLabel.TITLE:
            yield value
        elif field_of(piece.text) is FieldLabel.TITLE and following is not None:
            yield following.text.lstrip(": ")


def has_labels(outline: Outline, block: int, wanted: Iterable[FieldLabel]) -> bool:
    """Return whether a block of labels has all of the wanted fields."""
    pieces = outline.pieces_of(block)
    told = {split_label(piece.text)[0] or field_of(piece.text) for piece in pieces}
    return told.issuperset(wanted)


_BESIDE = """
by von par de da di por od от автор av af door przez oleh bởi eftir tarafından από του της author on am le um el il op
ago geleden sedan siden temu назад önce sitten
from since dated vom seit datum depuis dal desde sinds
den dne dnia la at à a в на στις στο in - – — · • » : , | / &
"""
_DONE = """
posted submitted published written added updated created edited started opened reviewed asked answered commented replied
responded remarked noted observed wrote writes said says told adds asks replies comments stated explained mentioned
reacted suggested opened comment reply answer response remark review
schrieb schreibt sagt sagte meint meinte kommentierte kommentiert antwortete antwortet bemerkte bemerkt fragte fragt
ergänzte verfasst geschrieben veröffentlicht erstellt kommentar antwort uhr
écrit écrivit dit répond répondu commenté demandé ajouté publié posté réponse commentaire
escribió escribe dijo dice comentó comenta respondió responde preguntó pregunta publicado escrito comentario respuesta
scrisse scrive scritto disse dice commentato commenta rispose risponde chiesto pubblicato inserito commento risposta
escreveu escreve disse diz comentou comenta respondeu perguntou postado comentário resposta
schreef schrijft zei zegt reageerde reageert antwoordde vroeg geplaatst geschreven reactie
skrev skriver sade säger sagde siger svarade svarar svarede svarte kommenterade kommenterede kommenterte frågade
spurgte spurte kommentar svar
kirjoitti kirjoittaa sanoi sanoo vastasi kommentoi kysyi
napisał napisała pisze powiedział powiedziała odpowiedział odpowiedziała skomentował skomentowała dodał dodała zapytał
napsal napsala odpověděl odpověděla komentoval komentovala
написал написала пишет сказал сказала говорит ответил ответила комментирует прокомментировал прокомментировала спросил
έγραψε είπε λέει απάντησε σχολίασε ρώτησε
yazdı yazmış dedi diyor yanıtladı cevapladı sordu
"""
BESIDE = frozenset(_BESIDE.split())
"""Words that precede a name or a date."""

WORDS = BESIDE | frozenset(_DONE.split())
"""Words of bylines that are no part of a name at its beginning or end."""

LINK_WORDS = r"link|url|permalink|permalien|permanent link|direct link|anchor|source|raw|¶|🔗|∞"
"""Texts of links to a post itself, or to its source."""

_NEVER = """
the a an of from at with in on to for by as and or
vom von zum zur im am beim bei mit aus nach über unter für seit bis der die das den dem des ein eine und oder
du des les aux au avec sur dans pour chez par une un et ou el los las del al con en para por desde una y
il lo gli dal dalla dallo del della dello dei nel nella con per su tra fra uno e do da dos das no na em com ao os
het een bij met uit naar voor sinds vanaf en of på med från til till fra hos den det och og ved fyrir
z ze dla przy od do u przez oraz ve ile için av på и или с от из для по у о за και με για από στη στον
"""
_NO_NAMES = frozenset(_NEVER.split())
"""Prepositions and articles: none is a name by itself, whatever software writes before it."""

_AUXILIARY = frozenset({"ha", "hat", "has", "have", "heeft", "har", "on"})
_BYLINE_MARKS = ".,:;|()[]"
_LETTER = re.compile(r"[^\W\d_]")


def is_byline_word(word: str) -> bool:
    """Return whether a word of a byline is no part of a name.

    >>> is_byline_word("remarked:"), is_byline_word("Boyd")
    (True, False)
    """
    return _is_short_byline_word(word) if len(word) <= _MAX_KEPT else _is_short_byline_word.__wrapped__(word)


@lru_cache(maxsize=20_000)
def _is_short_byline_word(word: str) -> bool:
    return word.casefold().strip(_BYLINE_MARKS) in WORDS or not word.strip(_BYLINE_MARKS)


_MAX_KEPT = 60
"""The longest words for which the answer is cached: pages show the same words again and again."""


def name_in(text: str) -> str:
    """Return a text without the words and marks of bylines at its ends.

    >>> name_in("Posted by Ann Boyd on"), name_in("Carla remarked"), name_in("said")
    ('Ann Boyd', 'Carla', '')
    >>> name_in("-=[X]=-"), name_in("-Ann"), name_in("Ann -"), name_in("vom")
    ('-=[X]=-', 'Ann', 'Ann', '')
    """
    name = without_byline_words(text).strip(" ,:;|»«·•–—")
    lone = name.startswith("-") != name.endswith("-")
    name = name.strip("- ") if lone or not name.strip("- ") else name
    return "" if name.casefold() in _NO_NAMES else name


def without_byline_words(text: str) -> str:
    """Return a text without the words of bylines at its ends; marks beside the name stay.

    >>> without_byline_words("Posted by -=[X]=- on"), without_byline_words("a")
    ('-=[X]=-', '')
    """
    words = text.split()
    while words and is_byline_word(words[0]):
        del words[0]
    said = False
    while words and (is_byline_word(words[-1]) or (said and words[-1].casefold() in _AUXILIARY)):
        said = words.pop().casefold().strip(_BYLINE_MARKS) not in BESIDE
    return " ".join(words)


def is_clause(text: str) -> bool:
    """Return whether a text is part of a sentence rather than a name: it has many words, mostly in lower case.

    >>> is_clause("In any case it was three years ago that the"), is_clause("jo the sea dog")
    (True, False)
    """
    words = [word for word in text.split() if _LETTER.search(word)]
    return len(words) > _MAX_NICKNAME_LENGTH and sum(map(str.islower, words)) > len(words) // 2


_MAX_NICKNAME_LENGTH = 4
"""The most words in lower case of a nickname."""


def names_nobody(text: str) -> bool:
    """Return whether a text consists only of words of bylines: ``Submitted by``, ``on``.

    >>> names_nobody("Submitted by"), names_nobody("Submitted by Ann")
    (True, False)
    """
    return all(is_byline_word(word) or not _LETTER.search(word) for word in text.split())
