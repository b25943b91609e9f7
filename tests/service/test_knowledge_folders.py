"""Which folders of the knowledge base a service works with, and where its own entries go."""

import os
from pathlib import Path

import pytest

from aahcrawler.service.catalog.crawl_registry import KnowledgeFolders
from knowledge_base.file_selection import OWN_NAME, SHIPPED, VARIABLE


def test_own_entries_have_a_folder_beside_the_crawls_where_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    knowledge = KnowledgeFolders.of(tmp_path)
    assert knowledge.own == tmp_path / OWN_NAME
    assert knowledge.folders == (SHIPPED.absolute(),)
    assert knowledge.environment == {VARIABLE: "shipped"}
    (tmp_path / OWN_NAME / "applications").mkdir(parents=True)
    knowledge = KnowledgeFolders.of(tmp_path)
    assert knowledge.folders == (SHIPPED.absolute(), tmp_path / OWN_NAME)
    assert knowledge.environment == {VARIABLE: f"shipped{os.pathsep}{tmp_path / OWN_NAME}"}


def test_the_last_of_the_named_folders_holds_own_entries_whatever_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, f"shipped{os.pathsep}mine")
    knowledge = KnowledgeFolders.of(None)
    assert knowledge.own == tmp_path / "mine"
    assert knowledge.environment == {VARIABLE: f"shipped{os.pathsep}{tmp_path / 'mine'}"}


def test_single_crawls_leave_no_place_for_own_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert KnowledgeFolders.of(None).own is None
