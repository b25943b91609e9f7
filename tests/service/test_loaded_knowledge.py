"""The knowledge base is loaded once for all requests, and anew once a file of it has changed."""

from pathlib import Path

import pytest

from aahcrawler.service.cockpit.studio.open_works import LoadedKnowledge
from knowledge_base.file_selection import SHIPPED
from knowledge_base.loader import LoadError


def test_it_is_loaded_anew_once_a_file_has_changed(tmp_path: Path) -> None:
    entries = tmp_path / "own" / "applications"
    entries.mkdir(parents=True)
    file = entries / "phpbb.xml"
    file.write_bytes((SHIPPED / "applications" / "phpbb.xml").read_bytes())
    folders = (tmp_path / "own", tmp_path / "none")
    known = LoadedKnowledge()
    first = known.of(folders)
    assert [each.name for each in first.applications] == ["phpBB"]
    assert known.of(folders) is first
    file.write_bytes(file.read_bytes().replace(b'name="phpBB"', b'name="ourBB"', 1))
    assert [each.name for each in known.of(folders).applications] == ["ourBB"]
    file.write_bytes(b"<application")
    with pytest.raises(LoadError):
        known.of(folders)
    file.unlink()
    assert known.of(folders).applications == ()
