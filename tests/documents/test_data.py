"""Tables, JSON and results of queries are read for texts and links, and compared by what they say."""

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from aahcrawler.documents import (
    DocumentReader,
    NotComparedError,
    formats,
    is_data,
    is_document,
    json_values,
    query_results,
    table_text,
)
from aahcrawler.documents.content import CutError, SentFile
from aahcrawler.documents.formats import DocumentFormat, format_of
from aahcrawler.documents.statement_changes import statement_changes
from tests.documents.files import file_page
from tests.documents.packed import packed

TABLE = b"""id;name;see;level\r\n1;"Elbe; lower";http://a.test/elbe;4,5\r\n2;Oste;;3,1\r\n"""


@pytest.fixture(scope="module")
def reader() -> Iterator[DocumentReader]:
    made = DocumentReader()
    yield made
    made.close()


def _parts(known: DocumentFormat, body: str, media_type: str, content_type: str = "") -> list[str]:
    return list(known.parts(SentFile(body.encode(), media_type, "http://a.test/x", content_type)))


def _rows(body: str, content_type: str = "text/csv") -> list[str]:
    return _parts(table_text, body, content_type.partition(";")[0], content_type)


def test_texts_and_links_of_a_table_are_read(reader: DocumentReader) -> None:
    found = reader.read(file_page(TABLE, "text/csv; charset=utf-8"))
    assert (found.complete, found.entries, found.created) == (True, 2, None)
    (sheet,) = found.sheets
    lines = ["id \N{MIDDLE DOT} name \N{MIDDLE DOT} see \N{MIDDLE DOT} level", "1 \N{MIDDLE DOT} Elbe; lower"]
    assert sheet.text.split("\n")[0] == lines[0]
    assert sheet.text.split("\n")[1].startswith(lines[1])
    assert [link.address for link in sheet.links] == ["http://a.test/elbe"]
    assert "Elbe; lower" in sheet.links[0].context


def test_the_order_of_rows_and_columns_and_the_delimiter_make_no_difference() -> None:
    said = Counter(_rows(TABLE.decode()))
    other = "level\tsee\tid\tname\n3,1\t\t2\tOste\n\n4,5\thttp://a.test/elbe\t1\tElbe; lower\n"
    assert said == Counter(_rows(other, "text/tab-separated-values"))
    assert said != Counter(_rows(other.replace("3,1", "3,2"), "text/tab-separated-values"))
    assert Counter(_rows("a,b\n1,2\n1,2\n")) != Counter(_rows("a,b\n1,2\n")), "a row that stands twice counts twice"


def test_a_header_without_rows_says_something_too() -> None:
    assert _rows("a,b\n") == _rows("b;a\n")
    assert _rows("a,b\n") != _rows("a,c\n")
    assert _rows("") == _rows("\n\n") == []


@pytest.mark.parametrize(
    ("body", "content_type", "row"),
    [
        ("a,a,\n1,2,3\n", "text/csv; header=present", '{"3": "3", "a": "1", "a (2)": "2"}'),
        ("1,x\n2,y\n", "text/csv", '{"1": "1", "2": "x"}'),
        ("a,b\nc,d\n", "text/csv; header=absent", '{"1": "a", "2": "b"}'),
        ("a,b\n1\n", "text/csv", '{"a": "1"}'),
        ("a,b\n1,2,3\n", "text/csv", '{"3": "3", "a": "1", "b": "2"}'),
        ('a,b\n"one\r\nand ""two""",2\n', "text/csv", '{"a": "one\\r\\nand \\"two\\"", "b": "2"}'),
        ("sep=|\na|b\n1|2\n", "text/csv", '{"a": "1", "b": "2"}'),
        ("\ufeffa;b\n1,5;2,5\n1,6;2,6\n", "text/csv", '{"a": "1,5", "b": "2,5"}'),
        ("name\nOste\n", "text/csv", '{"name": "Oste"}'),
    ],
)
def test_columns_are_named_by_the_header_or_by_their_number(body: str, content_type: str, row: str) -> None:
    assert _rows(body, content_type)[0] == row


def test_a_long_cell_is_read_and_other_tables_of_the_process_have_their_own_bound() -> None:
    before = csv.field_size_limit()
    assert len(_rows(f"number,text\n1,{'x' * 2 * before}\n")) == 1
    assert csv.field_size_limit() == before


def test_a_table_that_is_larger_than_its_sample_is_read_without_losing_a_line() -> None:
    for width in range(50, 54):
        rows = _rows("number,text\n" + "".join(f'{number},"{"x" * width}\n"\n' for number in range(3000)))
        assert len(rows) == 3000
        assert len(set(rows)) == 3000
        assert {len(row) for row in rows} == {len(rows[0]) + more for more in range(4)}


@pytest.mark.parametrize("body", ["," * 1_000_000, 'a,b\n"' + "x,\n" * 500_000, "\0" * 1000, ""])
def test_hostile_tables_are_given_up_or_read_in_bounds(reader: DocumentReader, body: str) -> None:
    page = file_page(body.encode(), "text/csv")
    assert len(reader.read(page).sheets) <= 50
    if len(body) > 1000:
        with pytest.raises(NotComparedError):
            reader.statements(page)


def test_a_table_that_was_cut_when_it_was_fetched_is_not_compared(reader: DocumentReader) -> None:
    page = file_page(TABLE + b"x" * 100, "text/csv").beginning(len(TABLE))
    with pytest.raises(NotComparedError, match="cut"):
        reader.statements(page)


def test_rows_that_no_column_names_are_added_and_removed() -> None:
    before, now = Counter(_rows("name,level\na,1\na,2\n")), Counter(_rows("name,level\na,1\na,3\n"))
    assert statement_changes(before, now).counts == (1, 1, 0)
    found = statement_changes(Counter(_rows(TABLE.decode())), Counter(_rows(TABLE.decode().replace("Oste", "Oste 2"))))
    assert (found.counts, found.keys) == ((0, 0, 1), ("id",))
    assert "Oste 2" in found.changed[0][1]


def test_a_measured_value_names_no_row() -> None:
    levels = "level,name\n10,Elbe\n20,Oste\n30,Este\n"
    found = statement_changes(Counter(_rows(levels)), Counter(_rows(levels.replace("10,E", "11,E"))))
    assert (found.counts, found.keys) == ((0, 0, 1), ("name",))
    measured = "level,place\n1.5,a\n2.5,a\n3.5,a\n"
    assert statement_changes(Counter(_rows(measured)), Counter(_rows(measured.replace("1.5,a", "1.5,b")))).keys == ()
    few = "name,level\na,1\nb,2\n"
    assert statement_changes(Counter(_rows(few)), Counter(_rows("name,level\na,3\nc,4\n"))).counts == (2, 2, 0)


def test_json_is_compared_as_values() -> None:
    said = _parts(json_values, '{"n": 1.50, "rows": [{"id": 1, "t": "a"}, {"id": 2}], "list": [1, 2]}', formats.JSON)
    same = '{"rows":[{"id":2.0},{"t":"\\u0061","id":1e0}],"list":[1,2],"n":15E-1}'
    assert Counter(said) == Counter(_parts(json_values, same, formats.JSON))
    assert Counter(said) != Counter(_parts(json_values, same.replace("[1,2]", "[2,1]"), formats.JSON))
    changed = same.replace("1e0", '1, "t2": 5')
    found = statement_changes(Counter(said), Counter(_parts(json_values, changed, formats.JSON)))
    assert (found.counts, found.keys) == ((0, 0, 1), ("id",))


@pytest.mark.parametrize(
    ("written", "held"),
    [
        ("-0", "0"),
        ("0.10", "0.1"),
        ("1e400", "1e400"),
        ("12345678901234567890123.5", "12345678901234567890123.5"),
        ("1e99999999999999999999", "1e99999999999999999999"),
        ("0.00001", "0.00001"),
        ("1e-30", "1e-30"),
        ("-120e1", "-1200"),
    ],
)
def test_numbers_are_as_exact_as_they_came(written: str, held: str) -> None:
    assert json_values.canonical(json_values.parsed(written)) == held


def test_lines_of_json_are_a_document(reader: DocumentReader) -> None:
    lines = b'{"title": "Surge of 1962", "see": "http://a.test/surge", "n": 5}\n\n{"title": "Dike"}\n'
    page = file_page(lines, url="http://a.test/records.jsonl")
    assert is_document(page)
    found = reader.read(page)
    assert (found.entries, [link.address for link in found.sheets[0].links]) == (2, ["http://a.test/surge"])
    assert found.sheets[0].text.split("\n")[1] == "Dike"
    assert len(_parts(json_values, "\x1e[1]\n\x1e[2]\n", "application/json-seq")) == 2
    with pytest.raises(NotComparedError, match="value 2"):
        reader.statements(file_page(b"{}\n{,}\n", "application/x-ndjson"))


def test_deep_json_is_not_compared_and_the_next_document_is_read(reader: DocumentReader) -> None:
    with pytest.raises(NotComparedError):
        reader.statements(file_page(b"[" * 1_000_000, "application/json"))
    assert reader.statements(file_page(b"[]", "application/json")).parts == Counter({"[]": 1})


RESULTS = """{{"head": {{"vars": ["s", "t"]}}, "results": {{"bindings": [{}]}}}}"""
ELBE = """{"s": {"type": "uri", "value": "http://a.test/elbe"}, "t": {"type": "literal", "value": "Surge"}}"""
OSTE = """{"s": {"type": "bnode", "value": "b0"}}"""
XML = """<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head><variable name="t"/><variable name="s"/></head>
<results><result><binding name="s"><bnode>r9</bnode></binding></result><result>
<binding name="t"><literal>Surge</literal></binding><binding name="s"><uri>http://a.test/elbe</uri></binding></result></results></sparql>"""


def test_results_of_queries_are_read_and_compared_in_any_order_and_format(reader: DocumentReader) -> None:
    page = file_page(RESULTS.format(f"{ELBE}, {OSTE}").encode(), "application/sparql-results+json")
    found = reader.read(page)
    assert (found.entries, found.complete, found.sheets[0].text) == (2, True, "Surge")
    assert [(link.address, link.context) for link in found.sheets[0].links] == [("http://a.test/elbe", "Surge")]
    in_xml = file_page(XML.encode(), "application/sparql-results+xml")
    assert reader.statements(page) == reader.statements(in_xml)
    assert reader.statements(page) != reader.statements(
        file_page(XML.replace("Surge", "X").encode(), in_xml.media_type)
    )
    assert list(query_results.parts(SentFile(b'{"head": {}, "boolean": true}', page.media_type)))


def test_an_answer_that_is_broken_off_is_read_until_there_and_not_compared(reader: DocumentReader) -> None:
    page = file_page(RESULTS.format(f"{ELBE}, {OSTE}").encode()[:-20], "application/sparql-results+json")
    found = reader.read(page)
    assert (found.complete, found.entries) == (False, 1)
    with pytest.raises(NotComparedError):
        reader.statements(page)


def test_a_name_tells_a_table_where_the_server_does_not_say_what_it_is() -> None:
    for declared in ("", "text/plain", "application/octet-stream"):
        assert format_of(file_page(TABLE, declared, "http://a.test/gauges.CSV?x=1")) == "text/csv"
    assert format_of(file_page(TABLE, "text/plain", "http://a.test/gauges")) == ""
    assert format_of(file_page(b"<!doctype html><p>x", "text/html", "http://a.test/gauges.csv")) == ""
    assert format_of(file_page(b"\0\1\2\3" * 9, "application/octet-stream", "http://a.test/a.csv")) == ""
    page = file_page(b"{}", "application/json")
    assert (is_document(page), is_data(page)) == (False, True)
    assert is_data(file_page(b"%PDF-1.4", "application/pdf")) is False


BIBTEX = """
from aahcrawler.documents.content import About
from aahcrawler.page.transcript import Sheet

class Bibtex:
    def contents(self, file):
        return About(title="Books"), iter([Sheet(file.body.decode(file.encoding))])

    def parts(self, file):
        return iter(file.body.decode().split("@")[1:])

BIBTEX = Bibtex()
"""
ENTRY_POINTS = f"""[{formats.GROUP}]
application/x-bibtex = bibtex_format:BIBTEX
text/csv = bibtex_format:BIBTEX
application/x-broken = bibtex_format:NONE
"""


def test_a_format_of_another_distribution_is_read_and_takes_no_place_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bibtex_format.py").write_text(BIBTEX)
    known = tmp_path / "bibtex_format-1.0.dist-info"
    known.mkdir()
    (known / "METADATA").write_text("Metadata-Version: 2.1\nName: bibtex-format\nVersion: 1.0\n")
    (known / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    formats.added_formats.cache_clear()
    own = DocumentReader()
    try:
        page = file_page(b"@book{a}@book{b}", "application/x-bibtex")
        assert (is_document(page), is_data(page)) == (True, True)
        found = own.read(page)
        assert (found.title, found.complete, found.sheets[0].text) == ("Books", True, "@book{a}@book{b}")
        assert own.statements(page) == own.statements(replace(page, body=b"@book{b}@book{a}"))
        assert own.read(file_page(TABLE, "text/csv")).entries == 2
        broken = own.read(file_page(b"x", "application/x-broken"))
        assert (broken.sheets, broken.complete) == ((), False)
    finally:
        own.close()
        formats.added_formats.cache_clear()


def test_rows_are_read_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_text, "MAX_CELLS", 10)
    with pytest.raises(CutError, match="cells"):
        _rows("a,b\n" * 9)


XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
ODS = "application/vnd.oasis.opendocument.spreadsheet"


RELATIONS = '<Relationships><Relationship Id="r1" Target="worksheets/s.xml"/></Relationships>'
STRINGS = "<sst><si><t>name</t></si><si><r><t>El</t></r><r><t>be</t></r><rPh><t>x</t></rPh></si></sst>"


def _xlsx(*rows: str) -> bytes:
    return packed(
        {
            "[Content_Types].xml": "<Types/>",
            "xl/workbook.xml": '<workbook xmlns:r="r"><sheets><sheet name="Gauges" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": RELATIONS,
            "xl/sharedStrings.xml": STRINGS,
            "xl/worksheets/s.xml": f"<worksheet><sheetData>{''.join(rows)}</sheetData></worksheet>",
        }
    )


def _ods(*rows: str) -> bytes:
    table = f'<t:table t:name="Gauges">{"".join(rows)}</t:table>'
    return packed({"mimetype": ODS, "content.xml": f'<o:d xmlns:o="o" xmlns:t="t" xmlns:x="x">{table}</o:d>'})


HEADER = '<row><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>level</t></is></c></row>'
ELBE_ROW = '<row><c r="A2" t="s"><v>1</v></c><c r="C2"><v>4.5</v></c></row>'
REPEATED = (
    '<t:table-row t:number-rows-repeated="{}"><t:table-cell t:number-columns-repeated="{}">{}</t:table-cell>'
    "</t:table-row>"
)


def test_spreadsheets_are_read_as_tables(reader: DocumentReader) -> None:
    page = file_page(_xlsx(HEADER, ELBE_ROW), XLSX)
    assert format_of(file_page(page.body, "application/octet-stream")) == XLSX
    found = reader.read(page)
    assert (found.complete, found.sheets[0].text) == (True, "name \N{MIDDLE DOT} level\nElbe \N{MIDDLE DOT} 4.5")
    said = reader.statements(page)
    assert said.parts == Counter(
        ['["Gauges", {"1": "name", "2": "", "3": "level"}]', '["Gauges", {"1": "Elbe", "2": "", "3": "4.5"}]']
    )
    assert said == reader.statements(file_page(_xlsx(ELBE_ROW, HEADER), XLSX))
    assert said != reader.statements(file_page(_xlsx(HEADER, ELBE_ROW.replace("4.5", "4.6")), XLSX))
    row = '<t:table-row><t:table-cell o:value-type="float" o:value="4.5"><x:p>4,5 m</x:p></t:table-cell></t:table-row>'
    filled = REPEATED.format(1_048_000, 16_384, "")
    sheet = file_page(_ods(row, REPEATED.format(2, 1, "<x:p>http://a.test/elbe</x:p>"), filled), ODS)
    assert reader.statements(sheet).parts == Counter(
        {'["Gauges", {"1": "4.5"}]': 1, '["Gauges", {"1": "http://a.test/elbe"}]': 2}
    )
    assert [link.address for link in reader.read(sheet).sheets[0].links] == ["http://a.test/elbe"]


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (_ods(REPEATED.format(999_999_999, 9_999, "<x:p>x</x:p>")), ODS),
        (_ods(REPEATED.format(1, 999_999_999, "<x:p>x</x:p>")), ODS),
        (_xlsx('<row><c r="ZZZ1"><v>1</v></c></row>'), XLSX),
        (_xlsx(ELBE_ROW)[:-30], XLSX),
    ],
)
def test_spreadsheets_that_unfold_or_are_broken_are_given_up(
    reader: DocumentReader, body: bytes, media_type: str
) -> None:
    assert len(reader.read(file_page(body, media_type)).sheets) <= 50
    with pytest.raises(NotComparedError):
        reader.statements(file_page(body, media_type))
