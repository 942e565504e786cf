"""`tongsa score`: log-probabilities of given targets or texts; reranking of n-best lists."""

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from tongsa.cli.data_arguments import add_format_arguments
from tongsa.cli.model_arguments import add_device_arguments, add_run_argument, add_text_file_argument, load_model
from tongsa.cli.output import add_results_argument, print_result, print_status
from tongsa.cli.text_input import LINES_PER_CHUNK, read_chunks
from tongsa.errors import InputError

HELP = "print log-probabilities of given targets or texts; rerank n-best lists"
DESCRIPTION = """\
Print the log-probability of each target given its source, or of each text if the model is a language model.

  tongsa score runs/mine pairs.tsv             log_prob<TAB>token_log_probs<TAB>source<TAB>target
  tongsa score runs/mine nbest.tsv --rerank    the candidates of each source, best first
  tongsa score runs/lm texts.txt               log_prob<TAB>token_log_probs<TAB>text

The perplexity of the whole input is printed on standard error.
"""
ScoredPair = tuple[tuple[str, str], list[float]]
"""Source and target, and the log-probability of each target token."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    add_text_file_argument(parser, "TSV pairs, or texts")
    add_format_arguments(parser)
    parser.add_argument("--rerank", action="store_true", help="sort the candidates of each source, best first")
    parser.add_argument("--normalize", action="store_true", help="with --rerank: compare means per token, not sums")
    parser.add_argument("--json", action="store_true", help="one JSON object per line, with every token")
    add_results_argument(parser)
    add_device_arguments(parser)


def run(options: argparse.Namespace) -> None:
    from tongsa.decoding.text_model import PairError

    text_model = load_model(options).text_model()
    has_source = text_model.task != "language_model"
    if options.rerank and not has_source:
        raise InputError("--rerank: a language model has no sources, so there is nothing to rank. Leave out --rerank.")
    if options.normalize and not options.rerank:
        raise InputError("--normalize: candidates are compared only with --rerank. Add --rerank.")
    total, num_tokens, num_lines = 0.0, 0, 0
    for pairs in _read_pairs(options, needs_source=has_source):
        try:
            token_log_probs = text_model.score(pairs)
        except PairError as error:
            line_number = num_lines + error.index + 1 + (options.header and has_source)
            raise InputError(f"{options.file}:{line_number}: {error.reason}") from None
        total += sum(map(sum, token_log_probs))
        num_tokens += sum(map(len, token_log_probs))
        num_lines += len(pairs)
        scored = list(zip(pairs, token_log_probs, strict=True))
        for pair, values in _rerank(scored, normalize=options.normalize) if options.rerank else scored:
            tokenizer = text_model.target_tokenizer
            tokens = tokenizer.token_strings(tokenizer.encode_all([pair[1]])[0])
            print_result(_format_score(pair if has_source else pair[1:], values, tokens, as_json=options.json))
    if num_tokens:
        perplexity = math.exp(min(700.0, -total / num_tokens))
        print_status(f"perplexity {perplexity:.4f} per token, {num_tokens:,} tokens, {num_lines:,} lines")


def _read_pairs(options: argparse.Namespace, *, needs_source: bool) -> Iterator[list[tuple[str, str]]]:
    """Yield lists of pairs; with --rerank, consecutive pairs of one source stay in one list."""
    pairs: list[tuple[str, str]] = []
    columns = _checked_columns(options.columns) if needs_source else (1, 1)
    line_number = 0
    for chunk in read_chunks(options.file):
        for line in chunk:
            line_number += 1
            if options.header and needs_source and line_number == 1:
                continue
            pair = _parse_pair(line, f"{options.file}:{line_number}", columns, needs_source=needs_source)
            if options.rerank and len(pairs) >= LINES_PER_CHUNK and pairs[-1][0] != pair[0]:
                yield pairs
                pairs = []
            pairs.append(pair)
        if not options.rerank:
            yield pairs
            pairs = []
    if pairs:
        yield pairs


def _checked_columns(columns: Sequence[int] | None) -> tuple[int, int]:
    source, target = columns or (1, 2)
    if min(source, target) < 1:
        raise InputError(f"--columns {source} {target}: columns are counted from 1. Write 1 or more.")
    return source, target


def _parse_pair(line: str, location: str, columns: tuple[int, int], *, needs_source: bool) -> tuple[str, str]:
    from tongsa.data.corpus import CorpusError
    from tongsa.data.normalize import normalize

    cells = line.split("\t")
    if needs_source and len(cells) < max(columns):
        reason = "no tab. Write source<TAB>target" if len(cells) < 2 else f"no column {max(columns)}. Change --columns"
        raise CorpusError(f"{location}: {reason}.")
    source, target = (cells[columns[0] - 1], cells[columns[1] - 1]) if needs_source else ("", line)
    if not normalize(target):
        raise CorpusError(f"{location}: nothing to score. Write a text, or remove the line.")
    return normalize(source), normalize(target)


def _rerank(scored: list[ScoredPair], *, normalize: bool) -> list[ScoredPair]:
    def ranking_score(candidate: ScoredPair) -> float:
        token_log_probs = candidate[1]
        return sum(token_log_probs) / (len(token_log_probs) if normalize else 1)

    return [
        candidate
        for _, candidates in groupby(scored, key=lambda candidate: candidate[0][0])
        for candidate in sorted(candidates, key=ranking_score, reverse=True)
    ]


def _format_score(texts: tuple[str, ...], token_log_probs: list[float], tokens: list[str], *, as_json: bool) -> str:
    if not as_json:
        return "\t".join([f"{sum(token_log_probs):.4f}", " ".join(f"{value:.3f}" for value in token_log_probs), *texts])
    names = [*tokens, "</s>"][: len(token_log_probs)]  # a label has no </s>
    records = [{"token": name, "log_prob": value} for name, value in zip(names, token_log_probs, strict=True)]
    sides = dict(zip(("source", "target") if len(texts) > 1 else ("text",), texts, strict=True))
    return json.dumps(sides | {"log_prob": sum(token_log_probs), "tokens": records}, ensure_ascii=False)
