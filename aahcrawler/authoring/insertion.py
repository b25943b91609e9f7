"""Insert learned actions and signs into the text of an application's file; the other text stays as it is."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from aahcrawler.adaptation.store.learned import Learned, LearnedAction, LearnedLinks, LearnedSign
from aahcrawler.authoring.xml_spans import Span, inserted, root_of
from aahcrawler.wrapper_induction.link_selectors import ANY
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.model import Extract, Strength


class PromotionError(Exception):
    """A learned item cannot be promoted; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Insertion:
    """The way in which a learned item is inserted into a file.

    ``variant`` is the name of the variant that gets it, empty if none does; ``signed`` is True if the variant's signs
    are on its pages already, ``unseen`` if the pages show no sign of the level, so that it needs one more. ``replaced``
    is the action of the level that the learned one replaces, None if there is none.
    """

    file: Path
    learned: Learned
    variant: str = ""
    signed: bool = False
    unseen: bool = False
    replaced: Extract | None = None
    strength: Strength = Strength.HINT

    @property
    def test(self) -> str:
        """The name of the saved page that is its test."""
        return f"{self.learned.level or 'detected'}-{self.variant or self.learned.name}"

    def into(self, text: bytes) -> bytes:
        """Return the text of the file with the learned item. Raises `PromotionError`."""
        learned = self.learned
        if isinstance(learned, LearnedSign) and not learned.level:
            return self._with_pattern(text, learned)
        level = root_of(text).named("level", learned.level)
        if level is None:
            raise PromotionError(
                f"{self.file} has no level {learned.level} of its own (it extends another file); write the "
                "learned parts there by hand"
            )
        match learned:
            case LearnedSign():
                return inserted(text, level.parts[0].begin, _signs([learned.expression], learned, 4))
            case LearnedLinks() if is_anywhere(learned):
                return self._with_fallback(text, level, learned)
            case _:
                return self._with_variant(text, level, learned)

    def _with_pattern(self, text: bytes, learned: LearnedSign) -> bytes:
        detect = next(root_of(text).all("detect"))
        given = {"strength": self.strength.name.lower(), **learned.expression.attributes(), "cite": learned.pages[0]}
        return inserted(text, detect.end, b"    " + etree.tostring(etree.Element("pattern", given)) + b"\n")

    def _with_fallback(self, text: bytes, level: Span, learned: LearnedLinks) -> bytes:
        """Add an action that runs if the one of the level finds nothing, whatever the template."""
        if level.named("navigate", learned.name) is not None:
            raise PromotionError(f"{self.file}: level {learned.level} has an action {learned.name} already")
        first = next(level.all("variant"), None)
        written = learned.xml()
        written.set("name", learned.name)
        written.set("when-none", learned.action)
        return inserted(text, first.begin if first is not None else level.end, _action(learned, written, 2))

    def _with_variant(self, text: bytes, level: Span, learned: LearnedAction | LearnedLinks) -> bytes:
        """Put an action into a variant: a new one comes first, one that is there gets it as its last."""
        tag = "extract" if isinstance(learned, LearnedAction) else "navigate"
        variant = level.named("variant", self.variant)
        if variant is not None and variant.named(tag, learned.action) is not None:
            raise PromotionError(
                f"{self.file}: the variant {self.variant} has an action {learned.action} already; choose another name "
                "with --as"
            )
        written = self._changed(learned) if isinstance(learned, LearnedAction) else learned.xml()
        signs = learned.signs()
        if variant is None:
            first = next(level.all("variant"), None)
            begin = b"    " + etree.tostring(etree.Element("variant", {"name": self.variant})).replace(b"/>", b">")
            body = begin + b"\n" + _signs(signs, learned, 6) + _action(learned, written, 3) + b"    </variant>\n"
            text = inserted(text, first.begin if first is not None else level.end, body)
        else:
            text = inserted(text, variant.end, _action(learned, written, 3))
            if not self.signed:
                text = inserted(text, variant.parts[0].begin, _signs(signs, learned, 6))
        return inserted(text, level.parts[0].begin, _signs(signs, learned, 4)) if self.unseen else text

    def _changed(self, learned: LearnedAction) -> etree._Element:
        """Return an action as a variant writes it, without the additional parts of the level's action."""
        written = learned.wrapper.xml()
        written.set("name", learned.action)
        if self.replaced is not None:
            dropped = dropped_by(learned, self.replaced)
            if dropped:
                written.set("drop", " ".join(dropped))
            for name in ("many", "always"):
                if getattr(self.replaced, name) and not getattr(learned.wrapper.action, name):
                    written.set(name, "no")
        return written


def dropped_by(learned: LearnedAction, replaced: Extract) -> tuple[str, ...]:
    """Return the fields and parts of an action that the learned one in its place has not."""
    kept = {field.name for field in learned.wrapper.action.fields}
    fields = (field.name for field in replaced.fields if field.name not in kept)
    parts = ("identity", "parent", "instead", "run")
    gone = (part for part in parts if getattr(replaced, part) and not getattr(learned.wrapper.action, part))
    return tuple(dict.fromkeys((*fields, *gone)))


def is_anywhere(learned: LearnedLinks) -> bool:
    """Return whether an action finds links by their URLs alone, so that it is no sign of any template."""
    return learned.documented and learned.expression == ANY


def _action(learned: LearnedAction | LearnedLinks, written: etree._Element, depth: int) -> bytes:
    """Return an action as lines of a file, with a comment on its evidence."""
    etree.indent(written, level=depth)
    evidence = f"Learned on {learned.site} from {len(learned.pages)} pages ({learned.method}), {learned.date:%Y-%m-%d}."
    blanks = "  " * depth
    comment = f"{blanks}<!-- {evidence.replace('--', '-')} -->\n{blanks}".encode()
    return comment + etree.tostring(written).rstrip() + b"\n"


def _signs(signs: Iterable[Expression], learned: Learned, indent: int) -> bytes:
    """Return the conditions under which a page is of the variant or level, one a line."""
    given = ({**sign.attributes(), "cite": learned.pages[0]} for sign in signs)
    return b"".join(b" " * indent + etree.tostring(etree.Element("when", each)) + b"\n" for each in given)
