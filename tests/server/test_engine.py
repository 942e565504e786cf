"""CTranslate2 and torch in one server: the engine of a sentence never depends on its batch."""

import logging
import math
from pathlib import Path
from typing import Any

import pytest
import torch

import tongsa
from export.bundles import save_run, transformer
from live_server import live_server, sample_texts
from tongsa.export import export
from tongsa.server.batch_tasks import TranslateTask
from tongsa.server.config import ServerConfig
from tongsa.server.model_pool import ModelSource, load_model
from tongsa.server.queued_sentence import QueuedSentence

pytest.importorskip("ctranslate2")


@pytest.fixture(scope="module")
def exported_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = save_run(tmp_path_factory.mktemp("engine") / "run", transformer(norm="pre", positions="learned"))
    export(run, "ctranslate2")
    return run


def test_models_are_converted_when_they_are_loaded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tongsa.server")
    run = save_run(tmp_path / "run", transformer())
    with live_server(run) as server:
        assert server.get("/readyz").status_code == 200
        assert (run / "ctranslate2" / "model.bin").is_file()
        assert server.get("/v1/models").json()["models"][0]["engine"] == "ctranslate2"
        before = server.translate("a b c")[0]["text"]
        save_run(run, transformer(seed=2))
        server.context.models.load()  # as SIGHUP does
        after = tongsa.load(run, engine="torch", task="seq2seq")("a b c").text
        assert before != after == server.translate("a b c")[0]["text"]
        assert server.queue.model.engine == "ctranslate2"
    messages = [record.getMessage() for record in caplog.records]
    assert sum(message.startswith("converted the model") for message in messages) == 2, "once, and at the reload"
    for engine, folders in (("torch", 1), ("ctranslate2-int8", 2)):
        with live_server(run, engine=engine) as server:
            assert server.queue.model.engine == engine
            assert len(list(run.glob("ctranslate2*"))) == folders


def test_a_sentence_for_torch_does_not_move_its_batch_to_torch(exported_run: Path) -> None:
    translator = tongsa.load(exported_run, task="seq2seq")
    assert translator.engine, "the export is not used: nothing is tested"
    long = " ".join("abcdefg"[i % 7] for i in range(25))  # its output may be longer than the exported positions
    with live_server(exported_run, batch_wait_ms=30) as server:
        model = server.queue.model
        assert model.engine == "ctranslate2"
        searched: list[list[str]] = []
        search = translator.engine.search

        def recording_search(source: Any, config: Any, nbest: int = 1) -> Any:
            searched.append(source.lengths.tolist())
            return search(source, config, nbest)

        model.text_model.engine.search = recording_search
        short = sample_texts(20)
        together = server.translate([*short, long])
        alone = [server.translate(text)[0] for text in short]
        assert [translation["text"] for translation in together[:-1]] == [translation["text"] for translation in alone]
        assert [translation["text"] for translation in alone] == [translator(text).text for text in short]
        supported = [*map(model.engine_supports, model.count_tokens([*short, long]))]
        assert sum(map(len, searched[:-20])) == sum(supported) > 0


def test_token_probabilities_equal_the_translators(exported_run: Path) -> None:
    translator = tongsa.load(exported_run, task="seq2seq")
    with live_server(exported_run) as server:
        assert server.queue.model.engine == "ctranslate2"
        for text in sample_texts(6):
            (translated,) = server.translate(text, nbest=2, token_probabilities=True)
            (sentence,), best = translated["sentences"], translator.translate([text], nbest=2)[0]
            for actual, expected in zip([sentence, *sentence["alternatives"]], [best, *best.alternatives], strict=True):
                assert [token["token"] for token in actual["tokens"]] == [*expected.tokens, "</s>"]
                log_probs = [math.log(token["probability"]) for token in actual["tokens"]]
                assert log_probs == pytest.approx(expected.token_log_probs, abs=1e-4)
                assert sum(log_probs) == pytest.approx(expected.log_prob, abs=1e-3), "engine and torch disagree"


def test_threads_share_a_batch_without_changing_results_or_their_order(exported_run: Path) -> None:
    model = load_model(ModelSource("run", exported_run), ServerConfig())
    task = TranslateTask(use_engine=True, check_outputs=False)
    sentences = [QueuedSentence(task, text, model.count_tokens([text])[0]) for text in sample_texts(7)]
    one_thread = task.finish(model, sentences, task.search(model, sentences))
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        three_threads = task.finish(model, sentences, task.search(model, sentences))
    finally:
        torch.set_num_threads(before)
    texts = [response["text"] for response in one_thread]
    assert [response["text"] for response in three_threads] == texts
    assert len(set(texts)) > 3
