import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lacunet.profile import Association, AssociationTable
from lacunet.profile._columns import as_frame, as_numbers, read_table
from lacunet.profile._dependence import (
    MIN_CLASS,
    MIN_ROWS,
    SIGNIFICANCE,
    compare_categories,
    compare_missing,
    compare_numbers,
    find_associations,
    pool_categories,
    predict_missingness,
    score_target,
)


def read(X):
    return read_table(as_frame(X))


@pytest.fixture(scope="module")
def columns():
    """Return columns missing by values, by missingness and by chance."""
    stream = np.random.RandomState(0)
    n_rows = 600
    X = pd.DataFrame(
        {
            "age": stream.normal(50, 10, n_rows),
            "town": stream.choice(["Rome", "Bonn", "Oslo"], n_rows),
            "seen": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(stream.randint(0, 1000, n_rows), unit="D"),
        }
    )
    values = stream.randn(n_rows)
    X["by_age"] = np.where(X["age"] + 5 * stream.randn(n_rows) > 60, np.nan, values)
    X["by_town"] = np.where((X["town"] == "Oslo") & (values > 0), np.nan, values)
    late = (X["seen"] < pd.Timestamp("2020-06-01")) & (stream.rand(n_rows) < 0.7)
    X["by_day"] = np.where(late, np.nan, values)
    X["alone"] = np.where(stream.rand(n_rows) < 0.2, np.nan, values)
    X["with_alone"] = np.where(
        X["alone"].isna() & (stream.rand(n_rows) < 0.8), np.nan, stream.randn(n_rows)
    )
    return read(X)


@pytest.fixture(scope="module")
def table(columns):
    return find_associations(columns.loc[:, columns.isna().any()], columns)


def find(table, column, on):
    return next(each for each in table.links if (each.column, each.on) == (column, on))


def test_all_dependences_are_found_and_no_others(table):
    found = {(link.column, link.on, link.by) for link in table.links}
    expected = {
        ("by_age", "age", "value"),
        ("by_town", "town", "value"),
        ("by_day", "seen", "value"),
        ("with_alone", "alone", "missing"),
    }
    # Those that were made of the same numbers may be associated as well.
    assert expected <= found
    assert not [
        link for link in table.links if "alone" in link.column and link.by == "value"
    ]


def test_the_direction_is_described(table, columns):
    link = find(table, "by_age", "age")
    middle = np.sort(columns["age"])[299]
    assert link.where == f"is above {middle:.4g}"
    assert link.auc > 0.8
    high = columns["age"] > middle
    lost = columns["by_age"].isna()
    assert link.fraction_there == pytest.approx(lost[high].mean())
    assert link.fraction_elsewhere == pytest.approx(lost[~high].mean())
    assert link.contrast == link.fraction_there - link.fraction_elsewhere


def test_categories_are_named_and_dates_the_day(table):
    assert find(table, "by_town", "town").where == "is 'Oslo'"
    link = find(table, "by_day", "seen")
    assert link.where.startswith("is at most 2021-")
    assert link.auc < 0.5
    assert link.strength == pytest.approx(1 - 2 * link.auc)


@pytest.mark.parametrize("when", [0, 1])
def test_of_two_numbers_one_is_named(when):
    ill = np.arange(200.0) % 2
    X = np.column_stack(
        [np.where((ill == when) & (np.arange(200) < 90), np.nan, 1), ill]
    )
    columns = read(X)
    (link,) = find_associations(columns[["0"]], columns[["1"]]).links
    assert link.where == f"is {when}"
    assert (link.fraction_there, link.fraction_elsewhere) == (0.45, 0)


def test_columns_missing_together_are_reported_once(table):
    pairs = [link for link in table.links if link.by == "missing"]
    found = [frozenset((link.column, link.on)) for link in pairs]
    assert len(found) == len(set(found))
    link = find(table, "with_alone", "alone")
    assert link.where == "is missing"
    assert link.fraction_elsewhere == 0


def test_columns_that_are_never_missing_together_are_reported():
    X = np.arange(120.0).reshape(60, 2)
    X[:30, 0], X[30:, 1] = np.nan, np.nan
    (link,) = find_associations(read(X), pd.DataFrame()).links
    assert link.where == "is observed"
    assert (link.auc, link.fraction_there, link.fraction_elsewhere) == (0, 1, 0)


def test_a_column_is_not_tested_against_itself_and_a_pair_is_tested_once(columns):
    incomplete, others = columns[["by_age", "by_day"]], columns[["age", "by_day"]]
    assert find_associations(incomplete, others).n_tests == 2 + 1 + 1
    assert find_associations(incomplete, others, mutual=False).n_tests == 2 + 1


def test_links_are_sorted_and_their_p_values_adjusted(table):
    strengths = [link.strength for link in table.links]
    assert strengths == sorted(strengths, reverse=True)
    assert all(link.p_value <= link.p_adjusted <= SIGNIFICANCE for link in table.links)


def test_where_there_is_nothing_nothing_is_found():
    found = 0
    for seed in range(20):
        stream = np.random.RandomState(seed)
        X = stream.randn(150, 6)
        X[stream.rand(*X.shape) < 0.2] = np.nan
        columns = read(X)
        found += find_associations(columns, columns).n_links > 0
    assert found <= 3  # expected: one in twenty tables


def test_some_links_of_each_kind_are_kept_and_all_are_counted(monkeypatch):
    monkeypatch.setattr("lacunet.profile._dependence.MAX_LINKS", 10)
    lost = np.random.RandomState(0).rand(200) < 0.5
    X = np.where(lost[:, None], np.nan, 1.0) * np.ones(6)
    columns = read(np.column_stack([X, lost]))
    table = find_associations(columns.iloc[:, :6], columns)
    assert table.n_links == 6 + 6 * 5 / 2
    kinds = [link.by for link in table.links]
    assert (kinds.count("value"), kinds.count("missing")) == (6, 10)


def test_rare_categories_are_pooled():
    words = [*(["often"] * 50), *(["also"] * 40), *map(str, range(100))]
    column = read(pd.DataFrame({"word": words}))["word"]
    pooled = pool_categories(column)
    assert len(np.unique(pooled)) == 30
    np.testing.assert_array_equal(pooled[:90], as_numbers(column)[:90])


def test_nothing_to_compare_is_supported():
    table = find_associations(pd.DataFrame(), pd.DataFrame())
    assert (table.links, table.n_tests) == ((), 0)


def test_each_column_has_its_clearest_association_and_the_clearest_come_first():
    made = [
        Association(column, on, by, 0.9, 0.0, 0.0, "is above 1", there, 0.1)
        for column, on, by, there in (
            ("a", "x", "value", 0.2),
            ("b", "x", "value", 0.5),
            ("a", "y", "value", 0.9),
            ("b", "y", "missing", 1.0),
        )
    ]
    found = AssociationTable((), (), tuple(made), 4, 4).clearest()
    assert [(link.column, link.on) for link in found] == [("a", "y"), ("b", "x")]


# --- tests

stream = np.random.RandomState(0)
GROUPS = stream.rand(200, 4) < [0.1, 0.3, 0.5, 0.8]
CODES = stream.randint(0, 5, 200).astype(float)


def compare_indicator(missing, groups):
    """Compare one column's missingness with that of others."""
    found = compare_missing(np.column_stack([groups, missing]))
    return found[:, :-1, -1]


@pytest.mark.parametrize("values", [CODES, np.exp(stream.randn(200))])
def test_numbers_are_compared_as_by_mann_and_whitney(values):
    found = compare_numbers(values, GROUPS)
    for auc, p_value, group in zip(*found, GROUPS.T, strict=True):
        inside, outside = values[group], values[~group]
        expected = stats.mannwhitneyu(
            inside, outside, use_continuity=False, method="asymptotic"
        )
        assert p_value == pytest.approx(expected.pvalue)
        assert auc == pytest.approx(expected.statistic / len(inside) / len(outside))


def test_categories_are_compared_by_the_chi_squared_test():
    _, p_values = compare_categories(CODES, GROUPS)
    for p_value, group in zip(p_values, GROUPS.T, strict=True):
        table = [np.bincount(CODES[part].astype(int)) for part in (group, ~group)]
        found = stats.chi2_contingency(table, correction=False)
        # With N - 1 in place of N, as befits margins that are given.
        expected = stats.chi2.sf(found.statistic * 199 / 200, found.dof)
        assert p_value == pytest.approx(expected)


def test_the_auc_of_categories_leaves_out_the_two_rows():
    codes, group = CODES[:60], GROUPS[:60, 1]
    wins = []
    for i in np.flatnonzero(group):
        for j in np.flatnonzero(~group):
            rest = np.delete(np.arange(60), [i, j])
            fractions = [group[rest][codes[rest] == codes[k]].mean() for k in (i, j)]
            wins.append(0.5 * (1 + np.sign(fractions[0] - fractions[1])))
            wins[-1] = 0.5 if codes[i] == codes[j] else wins[-1]
    (auc,) = compare_categories(codes, group[:, None])[0]
    assert auc == pytest.approx(np.mean(wins))


def test_categories_of_one_row_each_have_no_association():
    found = compare_categories(np.arange(200.0), GROUPS)
    np.testing.assert_allclose(found[0], 0.5)
    np.testing.assert_allclose(found[1], 1.0)


def test_missingness_is_compared_by_fishers_test():
    auc, p_value = compare_missing(GROUPS)
    for i, j in [(0, 1), (1, 0), (2, 3)]:
        one, other = GROUPS[:, i], GROUPS[:, j]
        expected = 0.5 + (other[one].mean() - other[~one].mean()) / 2
        assert auc[i, j] == pytest.approx(expected)
        table = [[np.sum(a & b) for a in (other, ~other)] for b in (one, ~one)]
        tails = [stats.fisher_exact(table, way).pvalue for way in ("less", "greater")]
        assert p_value[i, j] == pytest.approx(min(1.0, 2 * min(tails)))


@pytest.mark.parametrize("compare", [compare_numbers, compare_categories])
def test_missing_values_are_left_out(compare):
    values = CODES.copy()
    values[50:100] = np.nan
    kept = ~np.isnan(values)
    for found, expected in zip(
        compare(values, GROUPS), compare(values[kept], GROUPS[kept]), strict=True
    ):
        np.testing.assert_allclose(found, expected)


def test_perfect_separation_has_an_auc_of_one_or_zero():
    group = np.arange(100) < 30
    for compare, values in (
        (compare_numbers, group.astype(float)),
        (compare_indicator, group),
    ):
        assert compare(values, group[:, None])[0] == 1
        assert compare(values, ~group[:, None])[0] == 0
    # A category has no direction.
    assert compare_categories(group.astype(float), ~group[:, None])[0] == 1


@pytest.mark.parametrize("compare", [compare_numbers, compare_categories])
def test_too_few_rows_are_not_compared(compare):
    group = np.arange(200) < MIN_ROWS - 1
    for part in compare(CODES, np.column_stack([group, ~group])):
        assert np.isnan(part).all()


def test_a_single_odd_value_is_not_taken_for_a_difference():
    group = np.arange(20_000) < 10
    values = (np.arange(20_000) == 0).astype(float)
    assert np.isnan(compare_numbers(values, group[:, None])[1])
    assert compare_categories(values, group[:, None])[1] > 0.5
    assert compare_indicator(values > 0, group[:, None])[1] == pytest.approx(0.001)


def test_constant_columns_are_not_compared():
    for compare in (compare_numbers, compare_categories):
        assert np.isnan(compare(np.ones(200), GROUPS)[1]).all()
        assert np.isnan(compare(np.full(200, np.nan), GROUPS)[1]).all()


@pytest.mark.slow
def test_under_independence_tests_reject_at_their_level():
    p_values = {compare_numbers: [], compare_categories: [], compare_indicator: []}
    for seed in range(300):
        draw = np.random.RandomState(seed)
        groups = draw.rand(400, 10) < 0.05
        codes = draw.choice(12, 400, p=draw.dirichlet(np.full(12, 2.0))).astype(float)
        for compare, found in p_values.items():
            values = codes > 8 if compare is compare_indicator else codes
            found.extend(compare(values, groups)[1])
    for found in p_values.values():
        known = np.array(found)[~np.isnan(found)]
        assert len(known) > 2000
        assert (known <= 0.05).mean() < 0.06
        assert (known <= 0.001).mean() < 0.003


# --- prediction


@pytest.fixture(scope="module")
def incomplete():
    stream = np.random.RandomState(0)
    X = stream.randn(400, 4)
    X[X[:, 1] ** 2 > 1.5, 0] = np.nan  # high and low ones: by no rank
    lost = stream.rand(400) < 0.3
    X[lost, 2], X[lost & (stream.rand(400) < 0.9), 3] = np.nan, np.nan
    return read(X)


@pytest.fixture(scope="module")
def predicted(incomplete):
    found = predict_missingness(incomplete, incomplete, [], np.random.RandomState(0))
    return {each.column: each for each in found}


def test_missingness_by_values_is_predicted_from_values(predicted):
    assert predicted["0"].auc > 0.95
    assert predicted["0"].auc_values > 0.95


def test_columns_missing_together_are_predicted_from_missingness_only(predicted):
    assert predicted["2"].auc > 0.9
    assert 0.4 < predicted["2"].auc_values < 0.6


def test_columns_that_are_never_missing_have_nothing_to_predict_missingness(predicted):
    assert set(predicted) == {"0", "2", "3"}


def test_columns_missing_in_the_same_rows_are_not_used(incomplete):
    (alone,) = predict_missingness(
        incomplete[["2"]], incomplete, [("2", "3")], np.random.RandomState(0)
    )
    assert alone.auc < 0.65


def test_random_missingness_is_not_predicted():
    stream = np.random.RandomState(1)
    X = stream.randn(400, 3)
    X[stream.rand(400) < 0.4, 0] = np.nan
    columns = read(X)
    (found,) = predict_missingness(columns, columns, [], stream)
    assert 0.4 < found.auc < 0.6


def test_the_same_seed_gives_the_same(incomplete, predicted):
    again = predict_missingness(
        incomplete[["2", "3"]], incomplete, [], np.random.RandomState(0)
    )
    assert [each.auc for each in again] == [predicted[name].auc for name in "23"]


def test_too_few_missing_values_are_not_predicted():
    X = np.random.RandomState(0).randn(100, 2)
    X[: MIN_CLASS - 1, 0] = np.nan
    columns = read(X)
    assert predict_missingness(columns, columns, [], np.random.RandomState(0)) == ()


# --- the target


@pytest.mark.parametrize("kind", ["classes", "numbers", "huge", "days"])
def test_missingness_that_depends_on_the_target_explains_it(incomplete, kind):
    stream = np.random.RandomState(0)
    y = incomplete["0"].isna() + 0.2 * stream.randn(400)
    if kind == "classes":
        y = np.round(y)
    if kind == "huge":
        y = 1e300 * y
    if kind == "days":
        y = pd.Timestamp("2020-01-01") + pd.to_timedelta(100 * y, unit="D")
    assert 0.5 < score_target(y, incomplete, stream) <= 1


@pytest.mark.parametrize("kind", ["classes", "numbers", "words"])
def test_random_missingness_explains_nothing(incomplete, kind):
    stream = np.random.RandomState(0)
    y = stream.randn(400) if kind == "numbers" else stream.randint(0, 3, 400)
    y = pd.Series(y.astype(str) if kind == "words" else y.astype(float))
    assert score_target(y, incomplete, stream) < 0.02


@pytest.mark.parametrize(
    "y",
    [
        np.full(400, np.nan),
        np.zeros(400),
        np.where(np.arange(400) < 40, 1.0, np.nan),
        np.where(np.arange(400) < 5, 1.0, 0.0),
        np.where(np.arange(400) < 300, np.inf, np.arange(400)),
        np.arange(400) % 40 / 7,
    ],
    ids=["missing", "constant", "few", "rare", "infinite", "many classes"],
)
def test_a_target_without_enough_data_has_no_score(incomplete, y):
    stream = np.random.RandomState(0)
    y = pd.Series(y)
    if y.nunique() == 40:
        y = y.astype(str).astype("category")
    assert score_target(y, incomplete, stream) is None
    assert score_target(pd.Series(range(400)), incomplete[[]], stream) is None
