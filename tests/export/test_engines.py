"""Choice of the decoding engine: torch and CTranslate2 give the same translations."""

from pathlib import Path
from typing import Any

import pytest
import torch

import tongsa
from export.bundles import save_run, transformer
from tongsa.cli import main
from tongsa.decoding.glossary import Glossary
from tongsa.errors import InputError
from tongsa.export import export

TEXTS = ["a b c", "g f e d c b a", "가 나", "", "a"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return save_run(tmp_path / "run", transformer())


def test_auto_uses_an_export_of_the_current_weights_only(run: Path) -> None:
    assert tongsa.load(run, task="seq2seq").engine is None
    export(run, "ctranslate2")
    for folder in (run, run / "model"):
        engine = tongsa.load(folder, task="seq2seq").engine
        assert engine and engine.name == "ctranslate2"
    assert tongsa.load(run, engine="torch", task="seq2seq").engine is None
    save_run(run, transformer(seed=2))
    assert tongsa.load(run, task="seq2seq").engine is None, "a stale export"
    with pytest.raises(InputError, match="other weights"):
        tongsa.load(run, engine="ctranslate2", task="seq2seq")


def test_unknown_engine_is_an_error(run: Path) -> None:
    with pytest.raises(InputError, match="engine 'torhc': unknown engine; did you mean 'torch'"):
        tongsa.load(run, engine="torhc", task="seq2seq")  # type: ignore[call-overload]


def test_ctranslate2_does_not_change_the_number_of_torch_threads(run: Path) -> None:
    before = torch.get_num_threads()
    export(run, "ctranslate2")
    try:
        torch.set_num_threads(2)
        assert tongsa.load(run, task="seq2seq").engine
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_int8_export_is_used_only_on_request(run: Path) -> None:
    export(run, "ctranslate2", int8=True)
    assert tongsa.load(run, task="seq2seq").engine is None
    engine = tongsa.load(run, engine="ctranslate2", task="seq2seq").engine
    assert engine and engine.name == "ctranslate2"


def test_missing_export_is_an_error(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="tongsa export RUN --to ctranslate2"):
        tongsa.load(run, engine="ctranslate2", task="seq2seq")
    assert main(["translate", str(run), "nowhere.txt", "--engine", "ctranslate2"]) == 2
    assert "tongsa export" in capsys.readouterr().err


def test_both_engines_agree_and_torch_does_what_ctranslate2_cannot(run: Path) -> None:
    export(run, "ctranslate2")
    torch_only, translator = tongsa.load(run, engine="torch", task="seq2seq"), tongsa.load(run, task="seq2seq")
    requests: list[object] = []
    engine: Any = translator.engine
    search = engine.search

    def record(*request: object) -> object:
        requests.append(request)
        return search(*request)

    engine.search = record
    for beam in (1, 4):
        expected, results = torch_only.translate(TEXTS, beam=beam), translator.translate(TEXTS, beam=beam)
        assert [result.text for result in results] == [translation.text for translation in expected]
        for result, translation in zip(results, expected, strict=True):
            assert result.log_prob == pytest.approx(translation.log_prob, abs=1e-3)
            assert result.token_log_probs == pytest.approx(translation.token_log_probs, abs=1e-3)
    assert requests, "CTranslate2 was not used"
    requests.clear()
    glossary = Glossary.from_pairs([("a", "나 다")])
    expected, results = (model.translate(TEXTS, glossary=glossary) for model in (torch_only, translator))
    assert [result.text for result in results] == [translation.text for translation in expected]
    translator.translate(["a b c"], coverage_penalty=0.1)
    assert not requests, "CTranslate2 has no such setting"


def test_score_signature_names_the_engine(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export(run, "ctranslate2")
    (tmp_path / "pairs.tsv").write_text("a b\t가 나\n", "utf-8")
    for engine, signed in (("auto", True), ("torch", False)):
        arguments = ["evaluate", str(run), "--data", str(tmp_path / "pairs.tsv"), "--engine", engine]
        assert main(arguments) == 0
        assert ("engine:ctranslate2" in capsys.readouterr().out) == signed


def test_translation_model_as_language_model_is_an_error(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = save_run(run.parent / "말모델", transformer(seed=2))
    assert main(["translate", str(run), "--lm", str(other)]) == 2
    assert f"tongsa: {other}: this model translates" in capsys.readouterr().err
