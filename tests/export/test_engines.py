"""Choice of the decoding engine: torch and CTranslate2 give the same translations."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

import tongsa
from export.bundles import file_hashes, save_run, transformer
from tiny import CONFIGS, padded_batch, sentence, tiny
from tongsa.cli import main
from tongsa.decoding.engines.torch_int8 import quantize_model
from tongsa.decoding.glossary import Glossary
from tongsa.errors import InputError
from tongsa.export import export
from tongsa.nn import int8_linear
from tongsa.tokenization.special import BOS

TEXTS = ["a b c", "g f e d c b a", "가 나", "", "a"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return save_run(tmp_path / "run", transformer())


def test_auto_uses_an_export_of_the_current_weights_only(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exported = file_hashes(export(run, "ctranslate2"))
    for folder in (run, run / "model"):
        engine = tongsa.load(folder, task="seq2seq").engine
        assert engine and engine.name == "ctranslate2"
    assert tongsa.load(run, engine="torch", task="seq2seq").engine is None
    assert file_hashes(run / "ctranslate2") == exported and not capsys.readouterr().err, "it was converted again"
    for seed, name in ((2, "auto"), (3, "ctranslate2")):
        save_run(run, transformer(seed=seed))
        translator = tongsa.load(run, engine=name, task="seq2seq")  # type: ignore[call-overload]
        assert capsys.readouterr().err.count("converted the model") == 1, "a stale export is made again"
        expected = tongsa.load(run, engine="torch", task="seq2seq").translate(TEXTS, beam=1)
        assert translator.engine
        assert [result.text for result in translator.translate(TEXTS, beam=1)] == [result.text for result in expected]
    assert file_hashes(run / "ctranslate2").keys() == exported.keys(), "the files for other programs are kept"


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


def test_int8_has_a_folder_and_an_engine_of_its_own(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("ctranslate2-int8", "auto", "ctranslate2-int8", "auto"):
        engine = tongsa.load(run, engine=name, task="seq2seq").engine
        assert engine and engine.name == ("ctranslate2" if name == "auto" else name)
    messages = capsys.readouterr().err.splitlines()
    assert len(messages) == 2, "each is converted once"
    assert f"{run}/ctranslate2-int8 " in messages[0] and "8-bit weights" in messages[0]
    assert f"{run}/ctranslate2 " in messages[1] and "same output" in messages[1]
    sizes = [(run / folder / "model.bin").stat().st_size for folder in ("ctranslate2-int8", "ctranslate2")]
    assert sizes[0] < sizes[1]


def test_int8_export_is_used_only_on_request(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exported = file_hashes(export(run, "ctranslate2", int8=True))
    engine = tongsa.load(run, engine="ctranslate2-int8", task="seq2seq").engine
    assert engine and engine.name == "ctranslate2-int8"
    assert file_hashes(run / "ctranslate2-int8") == exported and not capsys.readouterr().err
    export(run, "ctranslate2", run / "ctranslate2", int8=True)  # in the folder of the other engine
    for name in ("auto", "ctranslate2"):
        engine = tongsa.load(run, engine=name, task="seq2seq").engine
        assert engine and engine.name == "ctranslate2"


def test_command_converts_the_model_on_first_use(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "texts.txt").write_text("a b c\n\n가 나\n", "utf-8")
    outputs = []
    for engine, message in (("torch", ""), ("auto", "converted"), ("ctranslate2", ""), ("ctranslate2-int8", "8-bit")):
        assert main(["translate", str(run), str(tmp_path / "texts.txt"), "--engine", engine]) == 0
        result = capsys.readouterr()
        outputs.append(result.out)
        assert message in result.err and len(result.err.splitlines()) == bool(message)
        assert (run / "ctranslate2").exists() == (engine != "torch")
    assert outputs[0] == outputs[1] == outputs[2]


def test_both_engines_agree_and_torch_does_what_ctranslate2_cannot(run: Path) -> None:
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
    glossary = Glossary.from_pairs([("a", "나 다")])
    expected, results = (model.translate(TEXTS, glossary=glossary) for model in (torch_only, translator))
    assert [result.text for result in results] == [translation.text for translation in expected]
    requests.clear()
    translator.translate(["a b c"], coverage_penalty=0.1)
    assert not requests, "CTranslate2 has no such setting"


@pytest.mark.skipif(not int8_linear.is_supported(), reason="this CPU has no VNNI instructions")
@pytest.mark.parametrize("kind", [name for name, config in CONFIGS.items() if config.task == "seq2seq"])
def test_torch_in_8_bits_has_nearly_the_probabilities_of_torch(kind: str) -> None:
    model, source = tiny(kind), padded_batch(sentence(5), sentence(8))
    target = padded_batch([BOS, *sentence(6, 1)], [BOS, *sentence(3, 1)])
    model.requires_grad_(requires_grad=False)
    with torch.inference_mode():
        expected = model(source, target).softmax(-1)
        quantize_model(model)
        probabilities = model(source, target).softmax(-1)
    assert_close(probabilities, expected, rtol=0, atol=0.15)
    assert not torch.equal(probabilities, expected), "no product was computed in 8 bits"


def test_8_bit_products_need_a_cpu_that_has_them(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: False)
    assert main(["translate", str(run), "--engine", "torch-int8"]) == 2
    assert "engine torch-int8: needs a CPU with VNNI instructions. Use --engine torch." in capsys.readouterr().err


def test_score_signature_names_the_engine(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pairs.tsv").write_text("a b\t가 나\n", "utf-8")
    coverage = ("--set", "decoding.coverage_penalty=0.2")
    cases: dict[tuple[str, ...], str] = {
        (): "ctranslate2",
        ("--engine", "torch"): "",
        ("--engine", "ctranslate2-int8"): "ctranslate2-int8",
        **({("--engine", "torch-int8"): "torch-int8"} if int8_linear.is_supported() else {}),
        coverage: "",  # a setting that CTranslate2 lacks: torch searches
    }
    for flags, engine in cases.items():
        assert main(["evaluate", str(run), "--data", str(tmp_path / "pairs.tsv"), "--json", *flags]) == 0
        signature = json.loads(capsys.readouterr().out)["signatures"]["bleu"]
        assert re.findall(r"\|engine:([\w-]+)", signature) == ([engine] if engine else [])


def test_translation_model_as_language_model_is_an_error(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = save_run(run.parent / "말모델", transformer(seed=2))
    assert main(["translate", str(run), "--lm", str(other)]) == 2
    assert f"tongsa: {other}: this model translates" in capsys.readouterr().err
