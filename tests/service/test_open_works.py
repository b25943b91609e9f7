"""Works are loaded anew once anything changes that they are loaded with."""

from pathlib import Path

import pytest

from aahcrawler.editor.entries.own_folder import OwnFolder
from aahcrawler.service.catalog.crawl_registry import KnowledgeFolders
from aahcrawler.service.cockpit.studio.open_works import OpenDrafts
from knowledge_base.file_selection import SHIPPED
from tests.studio.works.sailing import DRAFT

MINE = b"""<application name="Mine" kind="web-forum" extends="TinyForum"><about>Mine.</about>
<detect><pattern strength="proof" generator="Mine" cite="a"/></detect></application>"""


@pytest.mark.slow
def test_an_entry_is_another_one_once_that_which_it_extends_has_changed(tmp_path: Path) -> None:
    own, parent = OwnFolder(tmp_path), DRAFT.replace(b' draft="yes"', b"")
    own.save("tinyforum", parent, None, "Ada", "written")
    works = OpenDrafts(lambda: KnowledgeFolders((SHIPPED.absolute(),), tmp_path))
    works.works.begin_from(MINE, (), "mine", "Ada")
    first = works.open("mine")
    assert first.application is not None
    assert [each.name for each in first.application.levels] == ["forum", "thread"]
    assert works.open("mine").application is first.application
    own.save("tinyforum", parent.replace(b'"forum"', b'"board"'), None, "Ada", "renamed")
    now = works.open("mine")
    assert now.application is not None
    assert [each.name for each in now.application.levels] == ["board", "thread"]
    assert now.loaded_with != first.loaded_with
