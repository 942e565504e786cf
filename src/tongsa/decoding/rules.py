"""Rules and selections of beam search: length and repetition rules, forced prefixes, sampling, diverse beams."""

from collections.abc import Sequence

import torch
from torch import Tensor

from tongsa.decoding.beams import Beams, Rule, Selection
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.sampling import Sampler
from tongsa.tokenization.special import EOS


def rules_from_config(config: DecodingConfig) -> tuple[Rule, ...]:
    """Return the rules that the settings switch on."""
    rules: list[Rule] = []
    if config.repetition_penalty > 1:
        rules.append(repetition_penalty(config.repetition_penalty))
    if config.min_tokens:
        rules.append(min_tokens(config.min_tokens))
    if config.no_repeat_ngram:
        rules.append(no_repeat_ngram(config.no_repeat_ngram))
    return tuple(rules)


def min_tokens(length: int) -> Rule:
    """Forbid EOS before this many tokens."""

    def rule(log_probs: Tensor, beams: Beams) -> Tensor:
        if beams.tokens.shape[2] > length:
            return log_probs
        log_probs = log_probs.clone()
        log_probs[:, :, EOS] = -torch.inf
        return log_probs

    return rule


def no_repeat_ngram(ngram_size: int) -> Rule:
    """Forbid tokens that would complete an n-gram which the output already contains."""

    def rule(log_probs: Tensor, beams: Beams) -> Tensor:
        tokens = beams.tokens[:, :, 1:]
        if tokens.shape[2] < ngram_size:
            return log_probs
        ngrams = tokens.unfold(2, ngram_size, 1)  # (sentence, hypothesis, n-gram, position in it)
        current = tokens[:, :, tokens.shape[2] - ngram_size + 1 :].unsqueeze(2)  # the last n - 1 tokens
        has_same_prefix = (ngrams[..., :-1] == current).all(dim=3)
        vocab_size = log_probs.shape[2]
        last_tokens = ngrams[..., -1].masked_fill(~has_same_prefix, vocab_size)  # an extra column that is dropped
        forbidden = torch.zeros(*log_probs.shape[:2], vocab_size + 1, dtype=torch.bool, device=log_probs.device)
        return log_probs.masked_fill(forbidden.scatter(2, last_tokens, True)[:, :, :-1], -torch.inf)

    return rule


def repetition_penalty(penalty: float) -> Rule:
    """Multiply the log-probability of tokens that the output already contains; EOS never is."""

    def rule(log_probs: Tensor, beams: Beams) -> Tensor:
        tokens = beams.tokens[:, :, 1:]
        return log_probs.scatter(2, tokens, log_probs.gather(2, tokens) * penalty)

    return rule


def forced_prefix(prefixes: Sequence[Sequence[int]]) -> Rule:
    """Force each sentence's output to begin with its prefix; an empty prefix forces nothing."""

    def rule(log_probs: Tensor, beams: Beams) -> Tensor:
        position = beams.tokens.shape[2] - 1
        forced = [
            prefixes[sentence][position] if position < len(prefixes[sentence]) else -1 for sentence in beams.sentences
        ]
        if max(forced) < 0:
            return log_probs
        forced_tokens = torch.tensor(forced, device=log_probs.device)[:, None, None]
        others = torch.arange(log_probs.shape[2], device=log_probs.device) != forced_tokens
        return log_probs.masked_fill(others & (forced_tokens >= 0), -torch.inf)

    return rule


def word_end(positions: Sequence[int], continues_word: Sequence[int]) -> Rule:
    """Forbid the tokens `continues_word` at one position of each sentence's output; -1 forbids nothing."""

    def rule(log_probs: Tensor, beams: Beams) -> Tensor:
        position = beams.tokens.shape[2] - 1
        rows = [row for row, sentence in enumerate(beams.sentences) if positions[sentence] == position]
        if not rows or not continues_word:
            return log_probs
        log_probs, device = log_probs.clone(), log_probs.device
        tokens = torch.tensor(continues_word, device=device)
        log_probs[torch.tensor(rows, device=device)[:, None], :, tokens] = -torch.inf
        return log_probs

    return rule


def forbidden_phrases(phrases: Sequence[Sequence[Sequence[int]]], first_positions: Sequence[int]) -> Rule:
    """Forbid token sequences in each sentence's output, from a position on."""

    def rule(log_probs: Tensor, beams: Beams) -> Tensor:
        tokens, length = beams.tokens[:, :, 1:], beams.tokens.shape[2] - 1
        changed = None
        for row, sentence in enumerate(beams.sentences):
            for phrase in phrases[sentence]:
                start = length - len(phrase) + 1
                if start < first_positions[sentence]:
                    continue
                beginning = torch.tensor(phrase[:-1], dtype=torch.long, device=tokens.device)
                completes = (tokens[row, :, start:] == beginning).all(dim=1)  # (hypothesis,)
                changed = log_probs.clone() if changed is None else changed
                changed[row, completes, phrase[-1]] = -torch.inf
        return log_probs if changed is None else changed

    return rule


def sampling_selection(sampler: Sampler) -> Selection:
    """Select one candidate at random, by its probability."""

    def select(ranking_scores: Tensor, _: Beams) -> Tensor:
        return sampler(ranking_scores.flatten(1)).topk(1, dim=1).indices

    return select


def diverse_beam_selection(selection: Selection, beam_groups: int, diversity_penalty: float) -> Selection:
    """Select for diverse beam search (Vijayakumar et al. 2018, section 4).

    Row s · beam_groups + g of the batch is group g of sentence s. Groups select one after another. `diversity_penalty`
    is subtracted from a token for each time that earlier groups of the sentence selected it in this step. This changes
    which candidates are selected, never their scores.
    """

    def select(ranking_scores: Tensor, beams: Beams) -> Tensor:
        vocab_size, device = ranking_scores.shape[2], ranking_scores.device
        group_of_row = torch.tensor([row_id % beam_groups for row_id in beams.sentences], device=device)
        row_sentences = [row_id // beam_groups for row_id in beams.sentences]
        alive = sorted(set(row_sentences))
        sentence_of_row = torch.tensor([alive.index(sentence) for sentence in row_sentences], device=device)
        times_selected = ranking_scores.new_zeros(len(alive), vocab_size)
        selected: list[Tensor] = [ranking_scores.new_empty(0)] * len(row_sentences)
        for group in range(beam_groups):
            rows = (group_of_row == group).nonzero().squeeze(1)
            if not len(rows):
                continue
            sentences = sentence_of_row[rows]
            penalized = ranking_scores[rows] - diversity_penalty * times_selected[sentences].unsqueeze(1)
            chosen = selection(penalized, beams.select(rows.tolist()))
            order = ranking_scores[rows].flatten(1).gather(1, chosen).argsort(dim=1, descending=True)
            for row, flat_indices in zip(rows.tolist(), chosen.gather(1, order), strict=True):
                selected[row] = flat_indices
            possible = penalized.flatten(1).gather(1, chosen).isfinite().to(times_selected.dtype)
            index = (sentences.unsqueeze(1).expand_as(chosen), chosen % vocab_size)
            times_selected.index_put_(index, possible, accumulate=True)
        return torch.stack(selected)

    return select
