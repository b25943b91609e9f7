from offline.refinement.proposals import Proposal, Proposals, suggestions_of
from online_analysis.refinement import RefinementOutcome


def test_proposals_of_a_reference_crawl_are_suggestions_with_their_evidence() -> None:
    keywords = (
        Proposal("dyke", 8, 1, "http://a.example/", "weight 0.5"),
        Proposal("sluice", 4, 0, "http://b.example/"),
    )
    found = suggestions_of(Proposals(20, 10, RefinementOutcome.TAKEN, keywords))
    assert [(each.value, each.count, each.weight) for each in found.keywords] == [("dyke", 8, 1.0), ("sluice", 4, 0.5)]
    assert found.keywords[0].note == "weight 0.5; on 8 of 10 relevant pages, 1 of 10 others"
    assert found.keywords[0].snippet == "http://a.example/"
    assert found.entities == ()
