"""Power of a comparison, said before its runs are trained: the smallest difference that the test set shows.

It depends on how much the score varies between sentences, and so on outputs. They are those of the systems that exist:
files and models given to the command, finished runs of the grid; without any, those of the first run that finishes.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from statistics import median
from textwrap import fill

from tongsa import config
from tongsa.errors import InputError
from tongsa.evaluation.comparison import POWER, SIGNIFICANCE_LEVEL
from tongsa.evaluation.evaluate import DEFAULT_METRICS
from tongsa.evaluation.metric_statistics import MetricStatistics
from tongsa.evaluation.significance import detectable_difference, largest_detectable_difference
from tongsa.runs.compared_systems import TASK_METRICS, ComparisonOptions, perplexity_statistics, score_outputs
from tongsa.runs.comparison_tables import TERMINAL_WIDTH, metric_title
from tongsa.runs.evaluation import EvaluationSet, choose_bleu_tokenizer
from tongsa.runs.grid import GridRun
from tongsa.runs.recipe import Recipe, parse_recipe
from tongsa.runs.system_outputs import system_outputs
from tongsa.runs.systems import AlignedTestSet, Log, common_languages, open_systems, read_test_set

MAX_SYSTEMS = 4
"""Outputs of more systems would only take more time."""
SENTENCE_SHARES = frozenset({"exact_match", "accuracy"})
"""Metrics to which a sentence adds 0 or 100: they vary most at a score of 50."""


@dataclass(kw_only=True)
class PowerRemark:
    """Remark of a grid about its test set, logged once: before the first run, or after it if no outputs exist."""

    plan: Path
    """Folder with the plan of a setting of the grid."""
    read: Callable[[], EvaluationSet]
    """Return the test set; called when the plan is written."""
    options: ComparisonOptions
    seeds: int
    others: Sequence[Path] = ()
    """Systems that are not runs of the grid."""
    is_known: bool = False

    def __call__(self, runs: Sequence[GridRun], log: Log) -> None:
        """Log the power when it is known; `runs` are all runs of the grid, of which some have finished."""
        ended = [run for run in runs if run.state != "waiting"]
        systems = [*self.others, *(run.folder for run in runs if run.state == "finished")]
        if self.is_known or (ended and not systems):
            return
        try:
            text = self.estimate(systems, log) if systems else self.worst_case()
        except InputError as error:
            if not ended:  # nothing is trained yet: better now than after hours
                raise
            text = str(error)
        self.is_known = bool(systems)
        log(fill(text, TERMINAL_WIDTH, break_on_hyphens=False))

    @cached_property
    def recipe(self) -> Recipe:
        return parse_recipe(config.read_toml(self.plan / "run.toml"))

    @cached_property
    def test_set(self) -> AlignedTestSet:
        return read_test_set(self.read(), self.recipe.model.task)

    @property
    def metric(self) -> str:
        """The metric of the remark, the first one of the comparison."""
        task = self.recipe.model.task
        defaults = self.recipe.data.metrics or DEFAULT_METRICS if task == "seq2seq" else TASK_METRICS[task]
        chosen = self.options.metrics or defaults
        return next((name for name in chosen if name != "comet"), "perplexity")

    def worst_case(self) -> str:
        """Return what is known without outputs: the worst case of a share of sentences, otherwise nothing."""
        sentences, title = len(self.test_set.pairs), metric_title(self.metric)
        if self.metric not in SENTENCE_SHARES:
            return (
                f"What this test set of {sentences:,} sentences can show in {title} depends on how much the sentences "
                "differ; the first run that finishes tells it."
            )
        largest = largest_detectable_difference(sentences, power=POWER, level=SIGNIFICANCE_LEVEL)
        return self._sentence(sentences, largest, "at most, because nothing varies more than a score of 50")

    def estimate(self, paths: Sequence[Path], log: Log) -> str:
        """Return what the outputs of these systems say: the median of their pairs, or an upper bound from one."""
        systems = open_systems(paths[:MAX_SYSTEMS], self.options.decoding.device)
        languages = common_languages(systems)
        outputs = [system_outputs(system, self.test_set, self.options.decoding, log) for system in systems]
        names = [system.name for system in systems]
        if self.metric == "perplexity":
            scored = [
                (perplexity_statistics(output), name)
                for output, name in zip(outputs, names, strict=True)
                if output.log_probs
            ][:1]
        else:
            language = self.recipe.data.target_language or languages[1]
            tokenize = self.options.tokenize or choose_bleu_tokenizer(
                language, self.test_set.references, lambda _: None
            )
            scored = list(zip(score_outputs(self.metric, self.test_set, outputs, tokenize), names, strict=True))
        return self._sentence(len(self.test_set.pairs), *_spread(scored))

    def _sentence(self, sentences: int, difference: float, reason: str) -> str:
        title = metric_title(self.metric)
        if math.isnan(difference):
            return f"What this test set of {sentences:,} sentences can show in {title} is not known: {reason}."
        text = (
            f"What this test set of {sentences:,} sentences can show: a difference of {difference:.2f} {title} between "
            f"two runs is found in four of five cases ({reason})."
        )
        return f"{text} The differences between seeds come on top, whatever the test set." if self.seeds > 1 else text


def _spread(systems: Sequence[tuple[MetricStatistics, str]]) -> tuple[float, str]:
    """Return the detectable difference of these systems with their names, and from what it is estimated."""
    usable = [(system, name) for system, name in systems if not math.isnan(system.value())]
    if not usable:
        return math.nan, "no system has a score"
    if len(usable) == 1:
        system, name = usable[0]
        difference = detectable_difference(system, power=POWER, level=SIGNIFICANCE_LEVEL)
        return difference, f"from the outputs of {name}, if the errors of the two are unrelated; similar ones need less"
    pairs = combinations([system for system, _ in usable], 2)
    differences = [detectable_difference(a, b, power=POWER, level=SIGNIFICANCE_LEVEL) for a, b in pairs]
    return median(differences), f"as between {', '.join(name for _, name in usable)}"
