"""The record of one experiment, files of them, and statistics over many."""

from lacunet.results._cliques import cliques
from lacunet.results._file import ResultFile, read_results
from lacunet.results._friedman import FriedmanTest, friedman
from lacunet.results._pairs import Pair, PairTests, compare_pairs, holm
from lacunet.results._ranks import MeanRank, WinCount, count_wins, rank_methods
from lacunet.results._record import Cell
from lacunet.results._resampled import CorrectedT, corrected_t, paired_differences
from lacunet.results._scores import NEAR_IDENTICAL, Scores, scores_by_dataset
from lacunet.results._table import MeanTable, mean_table

__all__ = [
    "NEAR_IDENTICAL",
    "Cell",
    "CorrectedT",
    "FriedmanTest",
    "MeanRank",
    "MeanTable",
    "Pair",
    "PairTests",
    "ResultFile",
    "Scores",
    "WinCount",
    "cliques",
    "compare_pairs",
    "corrected_t",
    "count_wins",
    "friedman",
    "holm",
    "mean_table",
    "paired_differences",
    "rank_methods",
    "read_results",
    "scores_by_dataset",
]
