"""Term replacement: training sources with words of the target language, and models that read them."""

import shutil
from pathlib import Path

import pytest

from tiny import SMALL, write_pairs
from tongsa import bundle, config, storage
from tongsa.cli import main
from tongsa.data.ledger import Pair
from tongsa.decoding.glossary import Glossary
from tongsa.decoding.request import DecodeRequest
from tongsa.runs.term_replacement import TermReplacer

NOUNS = {"Hund": "dog", "Mann": "man", "Junge": "boy", "Ball": "ball", "Baum": "tree"}
TEXTS = [
    (f"Ein {a} sieht den {b} in os.Hund.", f"A {NOUNS[a]} sees the {NOUNS[b]} in os.Hund.")
    for a in NOUNS
    for b in NOUNS
]
PAIRS = [Pair(source, target, "pairs.tsv", i + 1) for i, (source, target) in enumerate(TEXTS)]
KOREAN = [
    Pair(f"the {a} of the {b}", f"{c}의 {d}{particle}", "", 0)
    for a, d in (("function", "함수"), ("module", "모듈"), ("sequence", "시퀀스"))
    for b, c in (("class", "클래스"), ("file", "파일"), ("list", "리스트"))
    for particle in ("", "를", "는", "가")
]


def replaced_sources(replacer: TermReplacer, seed: int = 0) -> list[str]:
    return [replacer.replace_terms(row, pair.source, 1000 * seed + row) for row, pair in enumerate(PAIRS)]


def test_words_are_replaced_by_their_translation_in_the_same_pair() -> None:
    replacer = TermReplacer(PAIRS, share=1.0)
    for pair, source in zip(PAIRS, replaced_sources(replacer), strict=True):
        assert source != pair.source and source.endswith(" in os.Hund."), "a part of an identifier was replaced"
        words = pair.source.split()
        for before, after in zip(words, source.split(), strict=True):
            assert after in (before, NOUNS.get(before, after)) and after in (*words, *pair.target.split())


def test_korean_particles_are_not_part_of_a_term() -> None:
    all_replacements = TermReplacer(KOREAN, share=1.0).replacements
    replaced_words = {
        (pair.source[replacement.start : replacement.end], replacement.target)
        for pair, replacements in zip(KOREAN, all_replacements, strict=True)
        for replacement in replacements
    }
    assert {("function", "함수"), ("sequence", "시퀀스")} <= replaced_words
    assert not any(target.endswith(("를", "는", "가")) for _, target in replaced_words)


def test_replacement_depends_on_pair_and_seed_only_and_on_the_share() -> None:
    first, second = TermReplacer(PAIRS, 0.5), TermReplacer(PAIRS, 0.5)
    expected = replaced_sources(first, 2)
    assert second.replace_terms(7, PAIRS[7].source, 2007) == expected[7]
    assert replaced_sources(second, 2) == expected != replaced_sources(first, 3)
    changed = sum(a != pair.source for a, pair in zip(replaced_sources(first), PAIRS, strict=True))
    assert 0.2 * len(PAIRS) < changed < 0.8 * len(PAIRS)
    assert replaced_sources(TermReplacer(PAIRS, 0.0)) == [pair.source for pair in PAIRS]


def test_only_terms_of_a_glossary_are_replaced() -> None:
    glossary = Glossary.from_pairs([("Hund", "dog"), ("Mann", "gentleman")])
    sources = replaced_sources(TermReplacer(PAIRS, 1.0, glossary))
    for pair, source in zip(PAIRS, sources, strict=True):
        assert source == pair.source or "dog" in source
        assert "gentleman" not in source, "its translation does not occur in the target"


def write_recipe(folder: Path, *settings: str) -> str:
    data = write_pairs(folder / "pairs.tsv", [(pair.source, pair.target) for pair in PAIRS * 2])
    table: config.Table = {}
    for setting in (f"data.train={data}", "training.steps=8", "training.checkpoint_every=4", *settings):
        config.override(table, setting)
    storage.write_text(folder / "recipe.toml", config.dump_toml(table))
    return str(folder / "recipe.toml")


def test_a_run_resumes_to_the_same_bytes_and_its_model_replaces_terms(tmp_path: Path) -> None:
    run = tmp_path / "run"
    recipe = write_recipe(tmp_path, *SMALL, "data.term_replacement=0.5", "training.keep_checkpoints=9")
    assert main(["train", recipe, "--run", str(run)]) == 0
    shutil.copytree(run, tmp_path / "again")
    shutil.rmtree(max((tmp_path / "again" / "checkpoints").iterdir()))
    assert main(["train", "--resume", str(tmp_path / "again")]) == 0
    weights = [folder / "model" / "weights.safetensors" for folder in (run, tmp_path / "again")]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    loaded = bundle.load_bundle(run)
    assert loaded.term_replacement
    translator, request = loaded.translator(), _request(loaded, Glossary.from_pairs([("Hund", "dog")]))
    searched = translator._search(["Ein Hund sieht den Ball."], request, (), replaces_terms=True)
    replaced = translator._to_translations(searched)
    assert "".join(replaced[0].source_tokens).replace("▁", " ").strip() == "Ein dog sieht den Ball."


def _request(loaded: bundle.Bundle, glossary: Glossary) -> DecodeRequest:
    return DecodeRequest(config=loaded.decoding, glossary=glossary)


def test_wrong_settings_are_refused_with_a_remedy_that_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "terms.tsv").write_text("Katze\tcat\n", "utf-8")
    (tmp_path / "good.tsv").write_text("Hund\tdog\n", "utf-8")
    glossary = f"data.glossary={tmp_path / 'terms.tsv'}"
    for message, wrong in (
        ("Write term_replacement = 0.3 too.", [*SMALL, glossary]),
        ("Check data.glossary, or leave it out.", [*SMALL, glossary, "data.term_replacement=0.3"]),
        ("a model that translates can learn it. Leave it out.", ["data.term_replacement=0.3", "model.kind=rnn_lm"]),
    ):
        assert main(["train", write_recipe(tmp_path, *wrong), "--run", str(tmp_path / "wrong")]) == 2
        assert message in capsys.readouterr().err
        shutil.rmtree(tmp_path / "wrong", ignore_errors=True)
    good = [*SMALL, f"data.glossary={tmp_path / 'good.tsv'}", "data.term_replacement=0.3"]
    assert main(["train", write_recipe(tmp_path, *good), "--run", str(tmp_path / "right")]) == 0
