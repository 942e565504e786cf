"""With CTranslate2 beside torch, who searches depends on a sentence alone and never on its company."""

import math
from pathlib import Path

import pytest
import torch

import tongsa
from export.bundles import save_run, transformer
from served import serving, texts
from tongsa.export import export
from tongsa.server.batch_tasks import TranslateTask
from tongsa.server.config import ServerConfig
from tongsa.server.model_pool import ModelSource, load_model
from tongsa.server.queue import QueuedSentence

pytest.importorskip("ctranslate2")


def test_a_sentence_for_torch_does_not_move_its_batch_there(tmp_path: Path) -> None:
    run = save_run(tmp_path / "run", transformer(norm="pre", positions="learned"))
    export(run, "ctranslate2")
    own = tongsa.load(run)
    assert own.engine, "the export is not used: nothing is tested"
    long = " ".join("abcdefg"[at % 7] for at in range(25))  # its output may be longer than was exported
    with serving(run, wait_ms=30) as server:
        model = server.worker.model
        assert model.engine == "ctranslate2"
        asked: list[list[str]] = []
        search = own.engine.search

        def counted(source, config, nbest=1):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            asked.append(source.lengths.tolist())
            return search(source, config, nbest)

        model.reader.engine.search = counted
        short = texts(20)
        together = server.translate([*short, long])
        alone = [server.translate(text)[0] for text in short]
        assert [one["text"] for one in together[:-1]] == [one["text"] for one in alone]
        assert [one["text"] for one in alone] == [one.text for one in map(own, short)]
        takes = [model.quick(model.size(text)) for text in (*short, long)]
        assert sum(map(len, asked[:-20])) == sum(takes) > 0


def test_pieces_have_the_probabilities_that_the_translator_tells_beside_this_engine(tmp_path: Path) -> None:
    run = save_run(tmp_path / "run", transformer(norm="pre", positions="learned"))
    export(run, "ctranslate2")
    own = tongsa.load(run)
    with serving(run) as server:
        assert server.worker.model.engine == "ctranslate2"
        for text in texts(6):
            (made,) = server.translate(text, nbest=2, piece_probabilities=True)
            (one,), best = made["sentences"], own.translate([text], nbest=2)[0]
            for shown, wanted in zip([one, *one["alternatives"]], [best, *best.alternatives], strict=True):
                assert [piece["piece"] for piece in shown["pieces"]] == [*wanted.pieces, "</s>"]
                logs = [math.log(piece["probability"]) for piece in shown["pieces"]]
                assert logs == pytest.approx(wanted.logs, abs=1e-4)
                assert sum(logs) == pytest.approx(wanted.total, abs=1e-3), "the engine searched with other numbers"


def test_parts_of_a_batch_side_by_side_give_the_same_answers_in_the_same_order(tmp_path: Path) -> None:
    run = save_run(tmp_path / "run", transformer(norm="pre", positions="learned"))
    export(run, "ctranslate2")
    model = load_model(ModelSource("run", run), ServerConfig())
    jobs = [QueuedSentence(TranslateTask(use_engine=True), text, model.count_tokens(text)) for text in texts(7)]
    whole = TranslateTask(use_engine=True).translate(model, jobs, {})
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        parts = TranslateTask(use_engine=True).translate(model, jobs, {})
    finally:
        torch.set_num_threads(before)
    assert [one.text for one in parts] == [one.text for one in whole]
    assert len({one.text for one in whole}) > 3
