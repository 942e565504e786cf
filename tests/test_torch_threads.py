"""parallel_map gives the results of a sequential map, in order."""

import threading
import time

import pytest
import torch

from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.translator import Translator
from tongsa.models.rnn_attention import RNNAttentionConfig
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer
from tongsa.torch_threads import parallel_map


def test_results_come_in_order_from_several_single_threaded_workers() -> None:
    before = torch.get_num_threads()
    together = threading.Barrier(2, timeout=30)  # passes only if two threads run at once

    def work(item: int) -> tuple[int, int]:
        if item < 2:
            together.wait()
        time.sleep(0.02 * (4 - item))
        return item, torch.get_num_threads()

    assert list(parallel_map(work, range(4), 2)) == [(item, 1) for item in range(4)]
    assert torch.get_num_threads() == before


def test_a_single_thread_is_the_calling_thread() -> None:
    assert {*parallel_map(lambda _: threading.get_ident(), range(3), 1)} == {threading.get_ident()}
    assert list(parallel_map(lambda item: item, [], 2)) == []


def test_an_error_is_raised_and_the_number_of_threads_restored() -> None:
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError):
        list(parallel_map(lambda item: 1 // item, [1, 0, 2], 2))
    assert torch.get_num_threads() == before


def test_a_translator_gives_the_same_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(3)
    tokenizer = train_tokenizer(["a b c d e", "가 나 다"], TokenizerConfig(model="char", vocab_size=300))
    model = RNNAttentionConfig(embedding=8, width=12, maxout_width=8).build(len(tokenizer), len(tokenizer))
    translator = Translator(model, tokenizer, tokenizer, DecodingConfig(beam=3, max_extra_tokens=3), batch_tokens=16)
    texts = [" ".join("abcde"[: 1 + i % 5]) for i in range(12)] + ["가 나", ""]
    seen = set[int]()
    search = translator.torch_engine.decode

    def search_and_record_thread(*arguments, **settings):  # type: ignore[no-untyped-def]  # noqa: ANN002, ANN003, ANN202
        seen.add(threading.get_ident())
        return search(*arguments, **settings)

    monkeypatch.setattr(translator.torch_engine, "decode", search_and_record_thread)
    texts_by_count = {}
    for count in (1, 2):
        monkeypatch.setattr(torch, "get_num_threads", lambda count=count: count)
        seen.clear()
        texts_by_count[count] = [translation.text for translation in translator.translate(texts)]
        assert (threading.get_ident() in seen) == (count == 1)
    assert texts_by_count[1] == texts_by_count[2]
