import pytest
from reproduction.experiments import list_experiments, load_experiment
from reproduction.experiments._jobs import Choice
from reproduction.experiments._share import share_out

NAMES = [name for name in list_experiments() if not name.startswith("claim")]
EVERY = [load_experiment(name) for name in NAMES]


def shares(*experiments, **options):
    chosen = [load_experiment(name) for name in experiments] or EVERY
    return {each.name: share for each, share in share_out(chosen, Choice(**options))}


def test_without_a_choice_everything_is_for_everyone():
    choice = Choice("quick", seeds=3)
    assert share_out(EVERY, choice) == [(each, choice) for each in EVERY]


def test_each_takes_the_methods_that_it_has():
    found = shares(methods=["karma", "em-joint", "ce"])
    assert {name: share.methods for name, share in found.items()} == {
        "table-1": ["em-joint", "ce"],
        "table-2": ["em-joint", "ce"],
        "table-4": ["karma", "em-joint", "ce"],
        "table-6": ["karma", "em-joint"],
        "figure-2": ["em-joint", "ce"],
        "figure-density": ["em-joint"],
    }


def test_each_takes_the_data_sets_that_it_has():
    found = shares(datasets=["pima", "heart", "esr"])
    assert {name: share.datasets for name, share in found.items()} == {
        "table-2": ["esr"],
        "table-4": ["pima"],
        "table-6": ["heart"],
    }
    assert list(shares(datasets="iris", data="digits")) == ["table-4", "table-6"]


def test_a_protocol_that_only_some_have_is_for_them():
    assert set(shares(protocol="authors")) == {
        each.name for each in EVERY if "authors" in each.protocols
    }
    with pytest.raises(ValueError, match="protocol='authors', but .* paper, quick"):
        shares("table-2", protocol="authors")


def test_names_that_nobody_knows_are_refused_with_a_hint():
    with pytest.raises(ValueError, match=r"Got 'catbost' in methods.*mean 'catboost'"):
        shares(methods=["paper", "catbost"])
    with pytest.raises(ValueError, match="Got 'zzz' in datasets, but .* pima, [^?]*$"):
        shares(datasets=["zzz"])
    with pytest.raises(ValueError, match="Got 'karma' in methods"):
        shares("table-2", methods=["karma"])


def test_what_nobody_has_together_is_refused():
    with pytest.raises(ValueError, match="karma.* with .*esr.*that one of table-1,"):
        shares(methods=["karma"], datasets=["esr"])


@pytest.mark.parametrize("options", [{"seeds": 0}, {"data": "mnist"}])
def test_other_choices_are_checked_too(options):
    with pytest.raises(ValueError, match="but expected"):
        shares(**options)
