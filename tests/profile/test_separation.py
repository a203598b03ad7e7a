import numpy as np
import pytest
from scipy import stats

from lacunet.profile._separation import (
    LEAST_ROWS,
    separate_by_hole,
    separate_by_level,
    separate_by_number,
)

stream = np.random.RandomState(0)
GROUPS = stream.rand(200, 4) < [0.1, 0.3, 0.5, 0.8]
LEVELS = stream.randint(0, 5, 200).astype(float)


@pytest.mark.parametrize("values", [LEVELS, np.exp(stream.randn(200))])
def test_numbers_are_compared_as_by_mann_and_whitney(values):
    separation = separate_by_number(values, GROUPS)
    for auc, p_value, group in zip(*separation, GROUPS.T, strict=True):
        inside, outside = values[group], values[~group]
        wanted = stats.mannwhitneyu(
            inside, outside, use_continuity=False, method="asymptotic"
        )
        assert p_value == pytest.approx(wanted.pvalue)
        assert auc == pytest.approx(wanted.statistic / len(inside) / len(outside))


def test_levels_are_compared_by_the_chi_squared_test():
    separation = separate_by_level(LEVELS, GROUPS)
    for p_value, group in zip(separation.p_value, GROUPS.T, strict=True):
        table = [np.bincount(LEVELS[part].astype(int)) for part in (group, ~group)]
        found = stats.chi2_contingency(table, correction=False)
        # With N - 1 in place of N, as befits margins that are given.
        wanted = stats.chi2.sf(found.statistic * 199 / 200, found.dof)
        assert p_value == pytest.approx(wanted)


def test_the_chance_to_guess_by_levels_is_that_without_the_two_rows():
    codes, group = LEVELS[:60], GROUPS[:60, 1]
    wins = []
    for i in np.flatnonzero(group):
        for j in np.flatnonzero(~group):
            rest = np.delete(np.arange(60), [i, j])
            shares = [group[rest][codes[rest] == codes[k]].mean() for k in (i, j)]
            wins.append(0.5 * (1 + np.sign(shares[0] - shares[1])))
            wins[-1] = 0.5 if codes[i] == codes[j] else wins[-1]
    (auc,) = separate_by_level(codes, group[:, None]).auc
    assert auc == pytest.approx(np.mean(wins))


def test_levels_of_a_row_each_tell_nothing():
    separation = separate_by_level(np.arange(200.0), GROUPS)
    np.testing.assert_allclose(separation.auc, 0.5)
    np.testing.assert_allclose(separation.p_value, 1.0)


def test_holes_are_compared_by_fishers_test():
    missing = stream.rand(200) < 0.3
    separation = separate_by_hole(missing, GROUPS)
    for auc, p_value, group in zip(*separation, GROUPS.T, strict=True):
        wanted = 0.5 + (missing[group].mean() - missing[~group].mean()) / 2
        assert auc == pytest.approx(wanted)
        table = [[np.sum(a & b) for a in (missing, ~missing)] for b in (group, ~group)]
        tails = [stats.fisher_exact(table, way).pvalue for way in ("less", "greater")]
        assert p_value == pytest.approx(min(1.0, 2 * min(tails)))


@pytest.mark.parametrize("separate", [separate_by_number, separate_by_level])
def test_missing_values_are_left_out(separate):
    values = LEVELS.copy()
    values[50:100] = np.nan
    kept = ~np.isnan(values)
    for found, wanted in zip(
        separate(values, GROUPS), separate(values[kept], GROUPS[kept]), strict=True
    ):
        np.testing.assert_allclose(found, wanted)


def test_what_tells_all_has_one_and_the_opposite_has_zero():
    group = np.arange(100) < 30
    for separate, values in (
        (separate_by_number, group.astype(float)),
        (separate_by_hole, group),
    ):
        assert separate(values, group[:, None]).auc == 1
        assert separate(values, ~group[:, None]).auc == 0
    # A category has no direction.
    assert separate_by_level(group.astype(float), ~group[:, None]).auc == 1


@pytest.mark.parametrize(
    "separate", [separate_by_number, separate_by_level, separate_by_hole]
)
def test_too_few_rows_are_not_compared(separate):
    group = np.arange(200) < LEAST_ROWS - 1
    values = LEVELS > 2 if separate is separate_by_hole else LEVELS
    for part in separate(values, np.column_stack([group, ~group])):
        assert np.isnan(part).all()


def test_a_single_odd_value_is_not_taken_for_a_difference():
    group = np.arange(20_000) < 10
    values = (np.arange(20_000) == 0).astype(float)
    assert np.isnan(separate_by_number(values, group[:, None]).p_value)
    assert separate_by_level(values, group[:, None]).p_value > 0.5
    assert separate_by_hole(values > 0, group[:, None]).p_value == pytest.approx(0.001)


def test_constant_columns_tell_nothing():
    for separate in (separate_by_number, separate_by_level):
        assert np.isnan(separate(np.ones(200), GROUPS).p_value).all()
        assert np.isnan(separate(np.full(200, np.nan), GROUPS).p_value).all()


@pytest.mark.slow
def test_tests_reject_as_often_as_they_say_where_there_is_nothing():
    p_values = {separate_by_number: [], separate_by_level: [], separate_by_hole: []}
    for seed in range(300):
        draw = np.random.RandomState(seed)
        groups = draw.rand(400, 10) < 0.05
        codes = draw.choice(12, 400, p=draw.dirichlet(np.full(12, 2.0))).astype(float)
        for separate, found in p_values.items():
            values = codes > 8 if separate is separate_by_hole else codes
            found.extend(separate(values, groups).p_value)
    for found in p_values.values():
        known = np.array(found)[~np.isnan(found)]
        assert len(known) > 2000
        assert (known <= 0.05).mean() < 0.06
        assert (known <= 0.001).mean() < 0.003
