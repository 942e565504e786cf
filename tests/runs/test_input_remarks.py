"""`tongsa translate` splits lines into sentences, and says which lines are unlike the training data."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import tongsa
from jobs import write_model
from tiny import write_pairs
from tongsa.bundle import load_bundle, save_bundle
from tongsa.cli import main
from tongsa.data.training_profile import TrainingProfile
from tongsa.errors import EXIT_INPUT_ERROR
from tongsa.runs import train
from tongsa.runs.reporting import MAX_REMARKS
from tongsa.runs.translate_job import ModelSpec, TranslateJobConfig
from tongsa.runs.validation import MAX_SAMPLE_CHARACTERS

Translate = Callable[..., tuple[int, list[str], str]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_model(tmp_path_factory.mktemp("remarks") / "model")
    profile = replace(
        TrainingProfile.from_pairs([("나는 집에 간다", ""), ("ab", "")], longest_source=10), min_log_prob=-9.0
    )
    loaded = load_bundle(folder)
    save_bundle(folder, replace(loaded, profile=profile, decoding=replace(loaded.decoding, min_tokens=2)), "")
    return folder


@pytest.fixture
def translate(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Translate:
    def run(text: str, *options: str) -> tuple[int, list[str], str]:
        (tmp_path / "in.txt").write_text(text, "utf-8")
        code = main(["translate", str(model), str(tmp_path / "in.txt"), *options])
        printed = capsys.readouterr()
        return code, printed.out.split("\n")[:-1], printed.err

    return run


def test_each_unusual_line_has_one_remark_and_many_are_counted(translate: Translate) -> None:
    _, lines, messages = translate("나는 ab에 간다. Ab!\n" + "zq zw. Qz! Wq?\n" * 30)
    remarks = [line for line in messages.splitlines() if "in.txt:" in line]
    assert len(lines) == 31 and len(remarks) == MAX_REMARKS
    assert remarks[0].endswith("in.txt:2: not in the training data: zq, zw, Qz, Wq")
    assert f"and {30 - MAX_REMARKS} more lines" in messages


def test_a_low_score_and_an_unusual_length_are_said(model: Path, tmp_path: Path, translate: Translate) -> None:
    _, lines, messages = translate("ab " * 40 + "\n", "--json")
    assert "in.txt:1: much longer than any text of the training data" in messages
    record = json.loads(lines[0])
    assert record["longer_than_training"] and not record["low_score"]
    loaded = load_bundle(model)
    assert loaded.profile is not None
    save_bundle(tmp_path / "sure", replace(loaded, profile=replace(loaded.profile, min_log_prob=0.0)), "")
    (translation,) = tongsa.load(tmp_path / "sure", task="seq2seq").translate(["ab"])
    assert translation.low_score


def test_an_empty_translation_is_said(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = load_bundle(model)
    for parameter in loaded.model.parameters():
        parameter.data.zero_()  # all tokens are equally probable: the shortest output, which is empty, is the best
    save_bundle(tmp_path / "silent", replace(loaded, profile=None, decoding=replace(loaded.decoding, min_tokens=0)), "")
    (tmp_path / "in.txt").write_text("ab\n\n\x01\nab. Ba.\n", "utf-8")
    assert main(["translate", str(tmp_path / "silent"), str(tmp_path / "in.txt"), "--json"]) == 0
    printed = capsys.readouterr()
    records = [json.loads(line) for line in printed.out.splitlines()]
    assert [record["low_score"] for record in records] == [True, False, False, True]
    remarked = [line.rpartition("in.txt:")[2] for line in printed.err.splitlines() if "in.txt:" in line]
    assert remarked == ["1: empty translation", "4: empty translation"]


def test_a_line_of_several_sentences_stays_one_line(translate: Translate) -> None:
    _, lines, _ = translate("나는 집에 간다.\u2028나는\t간다!  Ab ab.\n", "--nbest", "2", "--alignments")
    assert len(lines) == 1 and len(lines[0].splitlines()) == 1
    assert lines[0].count("\t") == 3
    _, (split,), _ = translate("나는 집에 간다. Ab ab.\n", "--json")
    _, (unsplit,), _ = translate("나는 집에 간다. Ab ab.\n", "--json", "--no-split")
    assert [len(json.loads(line)["sentences"]) for line in (split, unsplit)] == [2, 1]
    assert unsplit == translate("나는 집에 간다. Ab ab.\n", "--json", "--set", "decoding.split_sentences=false")[1][0]


def test_a_prefix_for_a_line_of_two_sentences_names_the_line(translate: Translate) -> None:
    code, _, messages = translate("ab\n나는 집에 간다. Ab ab.\n", "--prefix", "ab")
    assert code == EXIT_INPUT_ERROR and "line 2: 2 sentences" in messages
    assert translate("ab\n나는 집에 간다. Ab ab.\n", "--prefix", "ab", "--no-split")[0] == 0


def test_a_job_does_not_resume_with_another_splitting(model: Path) -> None:
    jobs = [
        TranslateJobConfig(models=ModelSpec(run=model), decoding_overrides=overrides)
        for overrides in ({}, {"split_sentences": False})
    ]
    first, second = (job.build(print).fingerprint() for job in jobs)
    assert first != second


def test_a_model_without_a_profile_loads_and_reports_nothing(model: Path, tmp_path: Path) -> None:
    save_bundle(tmp_path / "old", replace(load_bundle(model), profile=None), "")
    assert not (tmp_path / "old" / "profile.safetensors").exists()
    translation = tongsa.load(tmp_path / "old", task="seq2seq")("unknown words")
    assert (translation.unseen_words, translation.low_score, translation.longer_than_training) == ((), False, False)


def test_training_saves_the_profile_of_its_sources(tmp_path: Path) -> None:
    words = ["ab", "ba", "cab", "abba", "bac"]
    pairs = [(f"{first} {second}", f"{second} {first}") for first in words for second in words]
    file = write_pairs(tmp_path / "pairs.tsv", pairs)
    sizes = ["model.width=8", "model.ffn_width=8", "model.heads=2", "model.encoder_layers=1", "model.decoder_layers=1"]
    steps = ["training.steps=2", "training.validate_every=2", "training.threads=1", "tokenizer.vocab_size=300"]
    train(run=tmp_path / "run", data=file, dev=file, settings=[*sizes, *steps], quiet=True)
    loaded = load_bundle(tmp_path / "run")
    assert loaded.profile is not None
    assert not any(loaded.profile.unseen_words(source) for source, _ in pairs)
    assert loaded.profile.longest_source == max(map(len, loaded.source_tokenizer.encode_all(text for text, _ in pairs)))
    assert -20 < loaded.profile.min_log_prob < 0
    assert tongsa.load(tmp_path / "run", task="seq2seq")("abc ab").unseen_words == ("abc",)


def test_a_long_sentence_of_a_validation_is_printed_on_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = [("ab ba " * 60 + word, word) for word in ("cab", "abba")]
    file = write_pairs(tmp_path / "pairs.tsv", pairs)
    settings = ["model.kind=rnn", "model.width=8", "training.steps=1", "tokenizer.vocab_size=270"]
    train(run=tmp_path / "run", data=file, dev=file, settings=[*settings, "data.max_length_ratio=0"])
    printed = capsys.readouterr().err.splitlines()
    (source,) = [line for line in printed if line.startswith("    ab ba ")]
    assert len(source) == 4 + MAX_SAMPLE_CHARACTERS + 1 and source.endswith("…")
