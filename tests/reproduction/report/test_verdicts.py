from reproduction.experiments.claims import CLAIMS
from reproduction.report._folder import Folder
from reproduction.report._verdicts import find_verdicts, make_claims_section


def test_verdicts_become_cards_with_rule_and_figures(verdicts):
    told, cards = make_claims_section(verdicts).blocks
    assert told.text.startswith("Of 4 claims")
    assert [(card.badge, card.tone) for card in cards.cards] == [
        ("holds", "better"),
        ("does not hold", "worse"),
        ("not decidable", ""),
        ("not decidable", ""),
    ]
    first = cards.cards[0]
    assert (first.title, first.place, first.rule) == (
        "Ours is better.",
        "Section 5",
        "Count.",
    )
    assert first.facts == {"ours": "0"}


def test_all_claims_of_the_paper_are_judged(tmp_path):
    found = find_verdicts(Folder(tmp_path, (), {}))
    assert [verdict.claim.name for verdict in found] == [each.name for each in CLAIMS]
    assert make_claims_section(found).title == "Claims"
