"""Who searches is chosen by what is there, and the answer is the same."""

from pathlib import Path

import pytest
import torch

import tongsa
from export.bundles import saved, transformer
from tongsa.cli import main
from tongsa.decoding.glossary import Glossary
from tongsa.errors import InputError
from tongsa.export import export

TEXTS = ["a b c", "g f e d c b a", "가 나", "", "a"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return saved(tmp_path / "run", transformer())


def test_auto_takes_an_export_of_these_very_weights_and_nothing_else(run: Path) -> None:
    assert tongsa.load(run).engine is None
    export(run, "ctranslate2")
    assert tongsa.load(run).engine.name == "ctranslate2"
    assert tongsa.load(run / "model").engine.name == "ctranslate2"
    assert tongsa.load(run, engine="torch").engine is None
    saved(run, transformer(seed=2))
    assert tongsa.load(run).engine is None, "an export of the weights of yesterday"
    with pytest.raises(InputError, match="other weights"):
        tongsa.load(run, engine="ctranslate2")


def test_an_engine_that_does_not_exist_is_not_taken_for_a_missing_export(run: Path) -> None:
    with pytest.raises(InputError, match="engine 'torhc': there is none of this name; did you mean 'torch'"):
        tongsa.load(run, engine="torhc")  # type: ignore[arg-type]


def test_an_engine_beside_it_leaves_torch_its_threads(run: Path) -> None:
    before = torch.get_num_threads()
    export(run, "ctranslate2")
    try:
        torch.set_num_threads(2)
        assert tongsa.load(run).engine
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_eight_bits_are_for_who_asks_for_them(run: Path) -> None:
    export(run, "ctranslate2", int8=True)
    assert tongsa.load(run).engine is None
    assert tongsa.load(run, engine="ctranslate2").engine.name == "ctranslate2"


def test_an_engine_that_was_not_exported_to_is_a_sentence(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="tongsa export RUN --to ctranslate2"):
        tongsa.load(run, engine="ctranslate2")
    assert main(["translate", str(run), "nowhere.txt", "--engine", "ctranslate2"]) == 2
    assert "tongsa export" in capsys.readouterr().err


def test_both_engines_say_the_same_and_torch_does_what_the_other_cannot(run: Path) -> None:
    export(run, "ctranslate2")
    torch_alone, both = tongsa.load(run, engine="torch"), tongsa.load(run)
    asked: list[object] = []
    search = both.engine.search

    def noted(*request: object) -> object:
        asked.append(request)
        return search(*request)

    both.engine.search = noted
    for beam in (1, 4):
        expected, found = torch_alone.translate(TEXTS, beam=beam), both.translate(TEXTS, beam=beam)
        assert [one.text for one in found] == [one.text for one in expected]
        for one, other in zip(found, expected, strict=True):
            assert one.total == pytest.approx(other.total, abs=1e-3)
            assert one.logs == pytest.approx(other.logs, abs=1e-3)
    assert asked, "CTranslate2 was never asked"
    asked.clear()
    glossary = Glossary.from_pairs([("a", "나 다")])
    assert [one.text for one in both.translate(TEXTS, glossary=glossary)] == [
        one.text for one in torch_alone.translate(TEXTS, glossary=glossary)
    ]
    both.translate(["a b c"], coverage=0.1)
    assert not asked, "it cannot do this"


def test_a_score_by_another_engine_says_so(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export(run, "ctranslate2")
    (tmp_path / "pairs.tsv").write_text("a b\t가 나\n", "utf-8")
    for engine, signed in (("auto", True), ("torch", False)):
        arguments = ["evaluate", str(run), "--data", str(tmp_path / "pairs.tsv"), "--engine", engine]
        assert main(arguments) == 0
        assert ("engine:ctranslate2" in capsys.readouterr().out) == signed


def test_a_model_in_the_wrong_place_is_named_by_its_folder(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = saved(run.parent / "말모델", transformer(seed=2))
    assert main(["translate", str(run), "--lm", str(other)]) == 2
    assert f"tongsa: {other}: this model translates" in capsys.readouterr().err
