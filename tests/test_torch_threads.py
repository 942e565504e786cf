"""Batches side by side give what they give one after another."""

import threading
import time

import pytest
import torch

from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.translator import Translator
from tongsa.models.rnn_attention import RNNAttentionConfig
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer
from tongsa.torch_threads import parallel_map


def test_results_come_in_order_from_several_threads_with_one_of_torch_s_each() -> None:
    before = torch.get_num_threads()
    together = threading.Barrier(2, timeout=30)  # nobody passes alone

    def work(at: int) -> tuple[int, int]:
        if at < 2:
            together.wait()
        time.sleep(0.02 * (4 - at))
        return at, torch.get_num_threads()

    assert list(parallel_map(work, range(4), 2)) == [(at, 1) for at in range(4)]
    assert torch.get_num_threads() == before


def test_one_at_a_time_stays_in_this_thread() -> None:
    assert {*parallel_map(lambda _: threading.get_ident(), range(3), 1)} == {threading.get_ident()}
    assert list(parallel_map(lambda at: at, [], 2)) == []


def test_an_error_in_a_batch_is_told_and_the_threads_are_given_back() -> None:
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError):
        list(parallel_map(lambda at: 1 // at, [1, 0, 2], 2))
    assert torch.get_num_threads() == before


def test_a_translator_gives_the_same_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(3)
    pieces = train_tokenizer(["a b c d e", "가 나 다"], TokenizerConfig(model="char", vocab_size=300))
    model = RNNAttentionConfig(embedding=8, width=12, maxout_width=8).build(len(pieces), len(pieces))
    translator = Translator(model, pieces, pieces, DecodingConfig(beam=3, max_extra_tokens=3), batch_tokens=16)
    texts = [" ".join("abcde"[: 1 + at % 5]) for at in range(12)] + ["가 나", ""]
    seen = set[int]()
    search = translator.torch_engine.decode

    def watched(*arguments, **settings):  # type: ignore[no-untyped-def]  # noqa: ANN002, ANN003, ANN202
        seen.add(threading.get_ident())
        return search(*arguments, **settings)

    monkeypatch.setattr(translator.torch_engine, "decode", watched)
    found = {}
    for count in (1, 2):
        monkeypatch.setattr(torch, "get_num_threads", lambda count=count: count)
        seen.clear()
        found[count] = [one.text for one in translator.translate(texts)]
        assert (threading.get_ident() in seen) == (count == 1)
    assert found[1] == found[2]
