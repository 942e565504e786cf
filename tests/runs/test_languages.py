"""Languages that the settings leave out are guessed from the training data, said, and stored with the model."""

import tomllib
from pathlib import Path

import pytest

from command_line import run_command, set_flags
from tiny import SMALL
from tongsa import bundle, runs
from tongsa.data.corpus import language_suffixes
from tongsa.evaluation.metrics import bleu_tokenizer
from tongsa.interface import Task
from tongsa.runs.corpus_reader import CorpusReader
from tongsa.runs.languages import guess_languages
from tongsa.runs.recipe import DataConfig

WITHOUT_LANGUAGES = [*(setting for setting in SMALL if "language" not in setting), "training.steps=1"]
WITHOUT_LANGUAGES += ["tokenizer.vocab_size=320"]
ENGLISH = "the dog is in the house and he was not with you, for they are at the door of that man"
KOREAN = "그 개는 집에 있고 사람들은 문 앞에 있다"


def write_lines(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def guess(task: Task, *files: Path) -> tuple[str, str]:
    data, _ = guess_languages(DataConfig(train=tuple(map(str, files))), task, CorpusReader())
    return data.source_language, data.target_language


def test_a_korean_target_is_scored_over_characters_without_a_setting(tmp_path: Path) -> None:
    pairs = write_lines(tmp_path / "pairs.tsv", *(f"{ENGLISH} {i % 3}\t{KOREAN} {i}" for i in range(30)))
    command = ["train", "--data", pairs, "--run", "run", *set_flags(*WITHOUT_LANGUAGES)]
    result = run_command(*command, cwd=tmp_path)
    message = "data.source_language: en, data.target_language: ko, guessed from the training data. To change: --set"
    assert message in result.stderr
    data = tomllib.loads((tmp_path / "run" / "run.toml").read_text("utf-8"))["data"]
    loaded = bundle.load_bundle(tmp_path / "run")
    assert (data["source_language"], data["target_language"]) == ("en", "ko")
    assert (loaded.source_language, loaded.target_language) == ("en", "ko")
    assert "tok:char" in (tmp_path / "run" / "model" / "card.md").read_text("utf-8")
    changed = run_command(*command[:4], "other", *command[5:], *set_flags("data.target_language=de"), cwd=tmp_path)
    assert "data.target_language" not in changed.stderr
    assert "tok:13a" in (tmp_path / "other" / "model" / "card.md").read_text("utf-8")


def test_a_model_without_languages_is_evaluated_by_its_references(tmp_path: Path) -> None:
    phones = write_lines(tmp_path / "phones.tsv", *(f"word{i}\tN AY T {'AH' * (i % 3)}" for i in range(30)))
    runs.train(run=tmp_path / "run", data=phones, settings=WITHOUT_LANGUAGES, quiet=True)
    assert bundle.load_bundle(tmp_path / "run").target_language == ""
    korean = write_lines(tmp_path / "korean.tsv", f"a\t{KOREAN}")
    by_references = run_command("evaluate", "run", "--data", korean, cwd=tmp_path)
    assert "tok:char" in by_references.stdout
    assert "target language: ko, guessed from the references" in by_references.stderr
    changed = run_command("evaluate", "run", "--data", korean, "--tokenize", "13a", cwd=tmp_path)
    assert "tok:13a" in changed.stdout and "guessed" not in changed.stderr
    same = run_command("evaluate", "run", "--data", phones, cwd=tmp_path)
    assert "tok:13a" in same.stdout and "guessed" not in same.stderr


def test_only_texts_have_a_language(tmp_path: Path) -> None:
    pairs = write_lines(tmp_path / "pairs.tsv", f"{ENGLISH}\t{KOREAN}", f"{ENGLISH}\t{KOREAN}")
    assert guess("seq2seq", pairs) == ("en", "ko")
    assert guess("classification", pairs) == ("en", "")
    assert guess("language_model", write_lines(tmp_path / "lines.txt", KOREAN)) == ("", "ko")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("knight", "N AY T"),
        ("jump twice and walk", "I_JUMP I_JUMP I_WALK"),
        ("abandonner", "a b ɑ̃ d ɔ n e"),
        ("yennaris", "예 나 리 스"),
        ("국민", "궁민"),
    ],
)
def test_transcriptions_and_actions_are_scored_as_before(source: str, target: str, tmp_path: Path) -> None:
    pairs = write_lines(tmp_path / "pairs.tsv", *[f"{source}\t{target}"] * 3)
    _, language = guess("seq2seq", pairs)
    assert language == "" and bleu_tokenizer(language) == "13a"


def test_names_of_parallel_files_are_evidence_unless_the_script_contradicts(tmp_path: Path) -> None:
    for name, text in (("a.nl", "Ja."), ("a.cs", "Ano, ano."), ("a.ko", "ipanema ya ya"), ("a.phn", "N AY T")):
        write_lines(tmp_path / name, text + " ja ja")
    assert guess("seq2seq", tmp_path / "a.nl", tmp_path / "a.cs") == ("nl", "cs")
    assert guess("seq2seq", tmp_path / "a.nl", tmp_path / "a.ko") == ("nl", "")
    assert guess("seq2seq", tmp_path / "a.nl", tmp_path / "a.phn") == ("", "")


@pytest.mark.parametrize(
    ("names", "codes"),
    [
        (["train.de.gz", "train.en"], ("de", "en")),
        (["a.de", "a.en", "b.de", "b.en"], ("de", "en")),
        (["a.de", "a.en", "b.en", "b.de"], ("", "")),
        (["a.de", "a.en", "b.tsv"], ("", "")),
        (["a.en", "b.en"], ("", "")),
        (["a.de"], ("", "")),
    ],
)
def test_all_parallel_files_must_agree(names: list[str], codes: tuple[str, str]) -> None:
    assert language_suffixes([Path(name) for name in names]) == codes


def test_languages_in_json_keys_are_read_as_a_resumed_run_reads_them(tmp_path: Path) -> None:
    """A guess makes the language codes valid keys, so the file is read again with them."""
    lines = [f'{{"source": "{ENGLISH}", "target": "{KOREAN}"}}'] * 25 + [f'{{"en": "{ENGLISH}", "ko": "{KOREAN}"}}']
    runs.train(
        run=tmp_path / "run", data=write_lines(tmp_path / "p.jsonl", *lines), settings=WITHOUT_LANGUAGES, quiet=True
    )
    ledger = (tmp_path / "run" / "ledger.jsonl").read_text("utf-8")
    runs.resume(tmp_path / "run", quiet=True)
    assert (tmp_path / "run" / "ledger.jsonl").read_text("utf-8") == ledger
