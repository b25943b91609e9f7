"""Drafts an application's file as ``aah kb new`` does, with a knowledge base that lacks the application."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aahcrawler.editor.drafting.draft import Draft, Wanted, draft
from aahcrawler.editor.drafting.pattern_drafting import Known
from aahcrawler.editor.pages.saved_pages import pages_folder, saved_pages
from benchmarks.drafts.subject import Subject
from knowledge_base.loader import SCHEMA, load
from knowledge_base.matching import Sight
from knowledge_base.model import Application, KnowledgeBase

NAME: Final = "Drafted"


@dataclass(frozen=True, slots=True)
class Folders:
    """The folder of a knowledge base that lacks the application, and one for its draft."""

    base: Path
    own: Path

    @property
    def setting(self) -> str:
        """Both as ``AAH_KNOWLEDGE_BASE`` names them."""
        return f"{self.base}:{self.own}"

    def write(self, file: bytes) -> None:
        """Write the draft."""
        target = self.own / "applications" / "drafted.xml"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file)

    def load(self) -> KnowledgeBase:
        """Load both. Raises ``LoadError``."""
        return load(self.base, self.own)

    def application(self) -> Application:
        """Load the draft. Raises ``LoadError``."""
        return self.load().application(NAME)


def first_draft(subject: Subject, folders: Folders) -> Draft:
    """Return the draft of a subject's file from the pages that a person would give. Raises ``DraftError``."""
    known = Known(load(folders.base), [Sight(saved.page) for saved in saved_pages(pages_folder(folders.base))])
    return draft(Wanted(NAME, subject.kind, str(SCHEMA)), subject.given(), known)
