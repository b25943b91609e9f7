"""Routes of collections: named sets of crawls and imports."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Response

from aahcrawler.service.api.steering_routes import CollectionAsked, Operator
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.steering import collecting
from aahcrawler.service.views.collection_view import CollectionView, collection, collections
from aahcrawler.service.web import problems
from aahcrawler.service.web.problems import problem_responses

_FOUND = problem_responses(problems.NO_COLLECTION)
_CHANGED = problem_responses(problems.NO_COLLECTION, problems.BAD_COLLECTION)
Name = Annotated[str, Path(max_length=100, description="The name of the collection.", examples=["floods"])]


def collection_routes(instruments: Instruments) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/collections", tags=["collections"])
    reach, states = instruments.reach, instruments.states

    @router.get("")
    def list_collections() -> Sequence[CollectionView]:
        """List the collections in the folder of crawls, each with its crawls and what they count."""
        return collections(reach, states)

    @router.get("/{name}", responses=_FOUND)
    def show_collection(name: Name) -> CollectionView:
        """Return a collection; crawls of it that are gone are told as such."""
        return collection(reach, states, name)

    @router.put("/{name}", responses={**_CHANGED, 201: {"description": "Made", "model": CollectionView}})
    def put_collection(name: Name, asked: CollectionAsked, response: Response, _caller: Operator) -> CollectionView:
        """Make a collection what is sent; what is left out is empty then. No crawl is changed."""
        if collecting.put_collection(reach, name, asked):
            response.status_code = 201
        return collection(reach, states, name)

    @router.delete("/{name}", status_code=204, responses=_CHANGED)
    def delete_collection(name: Name, _caller: Operator) -> None:
        """Delete a collection, and no crawl."""
        collecting.delete(reach, name)

    return router
