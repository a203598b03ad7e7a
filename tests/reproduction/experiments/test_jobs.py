from dataclasses import replace

import pytest
from reproduction.experiments import load_experiment
from reproduction.experiments._jobs import Choice, check_choice_of, plan_jobs

TABLE_4 = load_experiment("table-4")
TABLE_2 = load_experiment("table-2")


def plan(experiment, **options):
    return list(plan_jobs(experiment, Choice(**options)))


def test_a_table_is_its_rows_times_columns_times_folds_times_seeds():
    jobs = plan(TABLE_4, protocol="paper", seeds=2)
    assert len(jobs) == len(set(jobs)) == 7 * 18 * 5 * 2
    assert {job.fold for job in jobs} == set(range(5))
    assert [job.seed for job in jobs] == sorted(job.seed for job in jobs)


def test_a_quick_look_is_one_fold():
    assert {job.fold for job in plan(TABLE_4)} == {0}


def test_the_protocol_of_the_authors_is_for_the_paper_alone():
    jobs = plan(TABLE_4, protocol="authors")
    assert {job.method for job in jobs} == {"paper"}
    assert len(jobs) == 7 * 5
    with pytest.raises(ValueError, match="Got 'mean' in methods, but .* of paper"):
        plan(TABLE_4, protocol="authors", methods=["mean"])


def test_rows_are_measured_by_the_protocols_that_they_are_for():
    images = load_experiment("table-1")
    others = {"mnist-5", "mnist-7", "mnist-10"}
    assert {job.dataset for job in plan(images, protocol="authors")} == {"mnist"}
    assert {job.dataset for job in plan(images, protocol="paper")} == {"mnist", *others}
    with pytest.raises(ValueError, match="Got 'mnist-5' in datasets"):
        plan(images, protocol="authors", datasets=["mnist-5"])


def test_rows_and_columns_can_be_chosen():
    jobs = plan(TABLE_4, datasets=["pima", "bands"], methods=["paper", "knn"])
    assert [(job.dataset, job.method) for job in jobs] == [
        ("bands", "knn"),
        ("bands", "paper"),
        ("pima", "knn"),
        ("pima", "paper"),
    ]
    assert plan(TABLE_4, methods="knn") == plan(TABLE_4, methods=["knn"])


def test_names_that_are_no_row_or_column_are_refused():
    with pytest.raises(ValueError, match="Got 'wine' in datasets, but .* bands"):
        plan(TABLE_4, datasets=["wine"])
    with pytest.raises(ValueError, match="Got 'tree' in methods"):
        plan(TABLE_4, methods=["tree"])


def test_stand_ins_take_the_place_of_the_data():
    jobs = plan(TABLE_4, data="digits")
    assert {job.dataset for job in jobs} == {"wine", "iris", "breast_cancer_wdbc"}
    assert {job.data for job in jobs} == {"digits"}


def test_complete_data_have_columns_of_their_own():
    jobs = plan(TABLE_2, datasets=["esr"])
    whole = {job.method for job in jobs if job.rate == 0}
    holed = {job.method for job in jobs if job.rate == 0.9}
    assert whole == {"complete", "lacunet", "hgb"}
    assert "complete" not in holed
    assert {"paper", "ce", "em-frozen"} <= holed


def test_images_have_no_folds_and_a_figure_of_them_is_made_of_the_table():
    table, figure = load_experiment("table-1"), load_experiment("figure-2")
    jobs = plan(table, protocol="paper", datasets=["mnist"])
    assert len(jobs) == len(table.methods)
    shown = [job for job in jobs if job.method != "lacunet-short"]
    assert plan(figure, protocol="paper") == shown


def test_the_toy_is_run_for_twenty_seeds():
    toy = load_experiment("figure-density")
    assert {job.seed for job in plan(toy, protocol="paper")} == set(range(20))
    assert {job.seed for job in plan(toy, seeds=3)} == {0, 1, 2}


def test_a_job_knows_the_keys_of_its_cells():
    job = replace(plan(TABLE_4)[0], seed=3)
    place = ("table-4", "bands", None, "karma", 0, 3, "quick")
    assert job.keys(["a", "b"]) == [(*place, "a"), (*place, "b")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protocol": "slow"}, "protocol='slow', but expected one of paper, authors"),
        ({"seeds": 0}, "seeds=0"),
        ({"data": "mnist"}, "data='mnist', but expected one of digits"),
    ],
)
def test_choices_that_are_none_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        check_choice_of(TABLE_4, Choice(**options))


def test_a_protocol_that_a_table_has_not_is_refused():
    with pytest.raises(ValueError, match="protocol='authors'"):
        check_choice_of(TABLE_2, Choice(protocol="authors"))
