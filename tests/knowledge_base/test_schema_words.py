"""Messages of the validator that no file of applications can cause, or that nobody has seen yet."""

from lxml import etree

from knowledge_base.loader import SCHEMA, SchemaWords

WORDS = SchemaWords(etree.parse(SCHEMA).getroot())


def test_unknown_messages_stay_as_they_are() -> None:
    assert WORDS.plain("Something else is wrong.") == "Something else is wrong."


def test_what_the_validator_says_of_another_root() -> None:
    schema = etree.XMLSchema(etree.parse(SCHEMA))
    assert not schema.validate(etree.fromstring("<site/>"))
    assert [WORDS.plain(error.message) for error in schema.error_log] == [
        "<site> cannot be the outermost element; write <application> or <kind>"
    ]


def test_every_simple_type_says_in_words_what_it_wants() -> None:
    schema = etree.parse(SCHEMA).getroot()
    names = {"xs": "http://www.w3.org/2001/XMLSchema"}
    for simple in schema.iterfind("xs:simpleType", names):
        said = simple.findtext("xs:annotation/xs:documentation", "", names)
        assert len(said.split()) > 2, simple.get("name")
