"""Plain words for what can be chosen in menus: reasons and roles."""

from collections.abc import Mapping
from typing import Final

from knowledge_base.model import FieldKind, Role
from knowledge_base.url_rules import Reason

REASONS: Final[Mapping[Reason, str]] = {
    Reason.LOGIN: "a form to log in or out",
    Reason.REGISTER: "a form to become a member",
    Reason.REPLY_FORM: "a form to write an answer or something new",
    Reason.EDIT: "a form to change what is there",
    Reason.MODERATION: "for moderators: reports, moving, deleting",
    Reason.PRINT_VIEW: "the same page for printing",
    Reason.SORT_ORDER: "the same list in another order",
    Reason.SESSION: "the same page under the number of a visit",
    Reason.OLD_REVISION: "an older state of a page, or what was changed in it",
    Reason.FEED: "a feed for readers of news",
    Reason.API: "answers for programs",
    Reason.SEARCH: "a search and what it found",
    Reason.PROFILE: "the page of a member",
    Reason.MEMBER_LIST: "a list of members",
    Reason.CALENDAR: "a calendar, which never ends",
    Reason.DUPLICATE: "another address of a page that is fetched anyway",
    Reason.REDIRECT: "leads on to another page that is linked anyway",
    Reason.ARCHIVE_VIEW: "a list of what is found in other lists",
    Reason.HELP: "help, rules and terms",
    Reason.STATISTICS: "statistics, who is online",
    Reason.VOTE: "a vote, a like, a rating",
    Reason.ACTION: "does something: subscribe, mark, share",
}
"""Why addresses are avoided."""

ROLES: Final[Mapping[Role, str]] = {
    "intermediate": "leads to content",
    "terminal": "holds content",
}
"""What pages of a level are for."""

FIELDS: Final[Mapping[str, FieldKind]] = {
    "title": FieldKind.TEXT,
    "author": FieldKind.PERSON,
    "date": FieldKind.DATETIME,
    "body": FieldKind.TEXT,
}
"""The fields that mean the same everywhere, with what they are read as."""
