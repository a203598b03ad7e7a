"""The record of one experiment, files of them, and statistics over many."""

from lacunet.evaluation import CorrectedT, corrected_t, holm
from reproduction.statistics._cliques import cliques
from reproduction.statistics._file import ResultFile, read_results
from reproduction.statistics._frame import (
    ALPHA,
    DECIMALS,
    compare_methods,
    find_cliques,
    friedman_p,
    mean_ranks,
    mean_scores,
    smallest_p,
    wilcoxon_p,
)
from reproduction.statistics._friedman import FriedmanTest, friedman
from reproduction.statistics._pairs import Pair, PairTests, compare_pairs
from reproduction.statistics._ranks import MeanRank, WinCount, count_wins, rank_methods
from reproduction.statistics._record import Cell
from reproduction.statistics._resampled import paired_differences
from reproduction.statistics._scores import NEAR_IDENTICAL, Scores, scores_by_dataset
from reproduction.statistics._table import MeanTable, mean_table

__all__ = [
    "ALPHA",
    "DECIMALS",
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
    "compare_methods",
    "compare_pairs",
    "corrected_t",
    "count_wins",
    "find_cliques",
    "friedman",
    "friedman_p",
    "holm",
    "mean_ranks",
    "mean_scores",
    "mean_table",
    "paired_differences",
    "rank_methods",
    "read_results",
    "scores_by_dataset",
    "smallest_p",
    "wilcoxon_p",
]
