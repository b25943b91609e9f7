"""A new crawl with the definition of another one."""

from pydantic import JsonValue

from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.steering.held_definitions import refused
from aahcrawler.service.steering.helm import Helm
from aahcrawler.service.steering.starting_crawls import Created, create, free_id
from aahcrawler.service.steering.steering_log import note
from aahcrawler.service.web.roles import Caller
from online_analysis.icd import IcdError
from online_analysis.icd.editing import edited
from online_analysis.icd.new_definition import suggested_id


def copy(helm: Helm, crawl: Crawl, caller: Caller, title: str) -> Created:
    """Create a crawl that is defined as another one, under a title of its own; nothing of it has been fetched.

    Its id comes of the title. Raise ``ProblemError`` where the definition cannot be had, or may not be created from
    here.
    """
    held = helm.definitions.read(crawl)
    name = free_id(helm.reach, suggested_id(title, held.icd.seeds))
    try:
        text = edited(held.text, {"id": name, "title": title, "output": None})
    except IcdError as error:
        raise refused(error, "the definition cannot be copied") from None
    made = create(helm.reach, helm.definitions, helm.processes, caller, text, begin=False)
    arguments: dict[str, JsonValue] = {"title": title}
    note(crawl, caller.name, "copy", arguments, {"id": made.id})
    return made
