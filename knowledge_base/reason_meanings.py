"""The meanings of the reasons of avoid rules, in words for those who write them."""

from collections.abc import Mapping
from typing import Final

from knowledge_base.url_rules import Reason

MEANINGS: Final[Mapping[Reason, str]] = {
    Reason.LOGIN: "where people log in or out, or ask for a new password",
    Reason.REGISTER: "where people sign up",
    Reason.REPLY_FORM: "a form to write an answer, a comment or a message",
    Reason.EDIT: "a form to write or change a page, a post or a profile",
    Reason.MODERATION: "what moderators and administrators use, and reports to them",
    Reason.PRINT_VIEW: "the same page for a printer, or as a file to download",
    Reason.SORT_ORDER: "the same list in another order, or filtered",
    Reason.SESSION: "the same page with the number of a visit in its URL",
    Reason.OLD_REVISION: "an older version of a page, or what differs between two",
    Reason.FEED: "RSS, Atom or another feed of what pages hold as well",
    Reason.API: "what programs ask, such as JSON and sitemaps",
    Reason.SEARCH: "a search form, or what a search found",
    Reason.PROFILE: "a page about a member",
    Reason.MEMBER_LIST: "a list of members, of groups, or of who is online",
    Reason.CALENDAR: "a page for each day, month or year, without an end",
    Reason.DUPLICATE: "the same page under another URL",
    Reason.REDIRECT: "a URL that only leads to another one, such as to the newest post",
    Reason.ARCHIVE_VIEW: "the same posts again, by month, by tag or without their layout",
    Reason.HELP: "rules, terms and questions about the software or the site",
    Reason.STATISTICS: "counts, badges and rankings",
    Reason.VOTE: "a vote, a like, or the results of a poll",
    Reason.ACTION: "a URL that changes something: subscribe, mark as read, share",
}
"""Every reason with its meaning, which completes "it is"."""
