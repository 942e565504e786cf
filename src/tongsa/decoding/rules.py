"""What an output may hold, and which candidates go on: small answers to what the search asks."""

from collections.abc import Sequence

import torch
from torch import Tensor

from tongsa.decoding.beams import Beams, Rule, Selection
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.sampling import Sampler
from tongsa.tokenization.special import EOS


def rules_from_config(config: DecodingConfig) -> tuple[Rule, ...]:
    """The rules that settings ask for."""
    rules: list[Rule] = []
    if config.repetition_penalty > 1:
        rules.append(repetition_penalty(config.repetition_penalty))
    if config.min_tokens:
        rules.append(min_tokens(config.min_tokens))
    if config.no_repeat_ngram:
        rules.append(no_repeat_ngram(config.no_repeat_ngram))
    return tuple(rules)


def min_tokens(length: int) -> Rule:
    """No </s> before so many pieces."""

    def rule(logs: Tensor, beams: Beams) -> Tensor:
        if beams.tokens.shape[2] > length:
            return logs
        logs = logs.clone()
        logs[:, :, EOS] = -torch.inf
        return logs

    return rule


def no_repeat_ngram(ngram_size: int) -> Rule:
    """No run of so many pieces twice: the piece that would complete one that is there already is forbidden."""

    def rule(logs: Tensor, beams: Beams) -> Tensor:
        pieces = beams.tokens[:, :, 1:]
        if pieces.shape[2] < ngram_size:
            return logs
        runs = pieces.unfold(2, ngram_size, 1)  # (sentence, hypothesis, place, piece of the run)
        begun = pieces[:, :, pieces.shape[2] - ngram_size + 1 :].unsqueeze(2)
        again = (runs[..., :-1] == begun).all(dim=3)
        ended = runs[..., -1].masked_fill(~again, logs.shape[2])  # a place beyond the vocabulary: nothing
        forbidden = torch.zeros(*logs.shape[:2], logs.shape[2] + 1, dtype=torch.bool, device=logs.device)
        return logs.masked_fill(forbidden.scatter(2, ended, True)[:, :, :-1], -torch.inf)

    return rule


def repetition_penalty(penalty: float) -> Rule:
    """A piece that is there already is less likely; </s> never is."""

    def rule(logs: Tensor, beams: Beams) -> Tensor:
        there = beams.tokens[:, :, 1:]
        return logs.scatter(2, there, logs.gather(2, there) * penalty)

    return rule


def forced_prefix(prefixes: Sequence[Sequence[int]]) -> Rule:
    """Each sentence's output begins with its prefix; an empty one leaves it free."""

    def rule(logs: Tensor, beams: Beams) -> Tensor:
        at = beams.tokens.shape[2] - 1
        wanted = [prefixes[sentence][at] if at < len(prefixes[sentence]) else -1 for sentence in beams.sentences]
        if max(wanted) < 0:
            return logs
        only = torch.tensor(wanted, device=logs.device)[:, None, None]
        others = torch.arange(logs.shape[2], device=logs.device) != only
        return logs.masked_fill(others & (only >= 0), -torch.inf)

    return rule


def sampling_selection(sampler: Sampler) -> Selection:
    """One candidate, by its probability."""

    def choose(merits: Tensor, _: Beams) -> Tensor:
        return sampler(merits.flatten(1)).topk(1, dim=1).indices

    return choose


def diverse_beam_selection(selection: Selection, beam_groups: int, diversity_penalty: float) -> Selection:
    """Diverse beams (Vijayakumar et al. 2018, section 4): sentence s·groups + g of the batch is group g of sentence s.

    Groups make their choice one after another; a piece that earlier groups of the same sentence have just taken counts
    less, each time by `strength`. That changes who is chosen, never what a hypothesis is worth.
    """

    def choose(merits: Tensor, beams: Beams) -> Tensor:
        size = merits.shape[2]
        group = torch.tensor([sentence % beam_groups for sentence in beams.sentences], device=merits.device)
        owners = [sentence // beam_groups for sentence in beams.sentences]
        owner = torch.tensor([sorted(set(owners)).index(one) for one in owners], device=merits.device)
        taken = merits.new_zeros(len(set(owners)), size)
        places: list[Tensor] = [merits.new_empty(0)] * len(owners)
        for number in range(beam_groups):
            rows = (group == number).nonzero().squeeze(1)
            if not len(rows):
                continue
            counted = merits[rows] - diversity_penalty * taken[owner[rows]].unsqueeze(1)
            chosen = selection(counted, beams.select(rows.tolist()))
            order = merits[rows].flatten(1).gather(1, chosen).argsort(dim=1, descending=True)
            for row, own in zip(rows.tolist(), chosen.gather(1, order), strict=True):
                places[row] = own
            real = counted.flatten(1).gather(1, chosen).isfinite().to(taken.dtype)
            taken.index_put_((owner[rows].unsqueeze(1).expand_as(chosen), chosen % size), real, accumulate=True)
        return torch.stack(places)

    return choose
