"""What once broke runs and verbs."""

import io
import json
import math
import random
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tiny import reversing, write_pairs
from tongsa import bundle, runs
from tongsa.cli import main, verbs
from tongsa.errors import InputError
from tongsa.runs import planner
from tongsa.data.ledger import Pair

ROOT = Path(__file__).parents[2]
FEW = ["training.threads=1", "training.precision=fp32", "training.batch_tokens=256", "training.steps=2"]
SHORT = ["training.validate_sentences=2", "decoding.max_extra_tokens=2"]
STACK = ["model.width=16", "model.ffn_width=16", "model.heads=2"]
TRANSLATOR = [*FEW, *SHORT, *STACK, "model.encoder_layers=1", "model.decoder_layers=1", "tokenizer.vocab_size=290"]
HOPS = ["model.width=8", "model.embedding=8", "model.attention=8", "model.hops=2", "model.hidden=8"]
CLASSIFIER = [*FEW, *HOPS, "model.kind=structured_self_attention", "tokenizer.vocab_size=400"]


def moods(count: int) -> list[tuple[str, str]]:
    generator = random.Random(1)
    return [(f"영화 {at}", generator.choice(["좋다", "나쁘다"])) for at in range(count)]


def train(folder: Path, pairs: list[tuple[str, str]], settings: list[str], dev: Path | None = None) -> Path:
    data = write_pairs(folder / "data.tsv", pairs)
    runs.train(run=folder / "run", data=data, settings=settings, quiet=True, dev=dev or ())
    return folder / "run"


def test_two_vocabularies_of_one_size_do_not_share_their_vectors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="share"):
        train(tmp_path, reversing(100), [*TRANSLATOR, "tokenizer.shared=false", "tokenizer.vocab_size=270"])


def test_a_second_attempt_learns_the_pieces_it_asks_for(tmp_path: Path) -> None:
    learned = ["model.positions=learned", "model.max_positions=100"]
    with pytest.raises(InputError, match=r"data\.longest"):
        train(tmp_path, reversing(100), [*TRANSLATOR, *learned])
    run = train(tmp_path, reversing(100), [*TRANSLATOR, "tokenizer.model=char"])
    assert bundle.load_bundle(run).source_tokenizer.model_type == "char"


def test_a_classifier_is_validated_on_all_of_its_dev_set(tmp_path: Path) -> None:
    """A file sorted by label, as many are: of the first 200 lines, all have one label."""
    pairs = [(f"나쁜 {at}", "나쁘다") for at in range(220)] + [(f"좋은 {at}", "좋다") for at in range(220)]
    run = train(tmp_path, pairs, CLASSIFIER, dev=write_pairs(tmp_path / "dev.tsv", pairs))
    assert "(440 pairs)" in (run / "model" / "card.md").read_text("utf-8")


def test_labels_with_one_example_do_not_stop_a_run(tmp_path: Path) -> None:
    pairs = [*moods(100), *((f"희귀 {at}", f"이름 {at}") for at in range(60))]
    train(tmp_path, pairs, [*CLASSIFIER, "training.seed=2"])


def test_evaluate_says_which_label_was_never_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = train(tmp_path, moods(60), CLASSIFIER)
    odd = write_pairs(tmp_path / "odd.tsv", [("영화 1", "좋다"), ("영화 2", "그저 그렇다")])
    assert main(["evaluate", str(run), "--data", str(odd)]) == 2
    assert "그저 그렇다" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "criterion"), [(CLASSIFIER, "bleu"), (TRANSLATOR, "accuracy"), (TRANSLATOR, "wer")]
)
def test_a_criterion_that_is_not_measured_is_refused(tmp_path: Path, settings: list[str], criterion: str) -> None:
    pairs = moods(60) if settings is CLASSIFIER else reversing(60)
    with pytest.raises(InputError, match="criterion"):
        train(tmp_path, pairs, [*settings, f"training.best_metric={criterion}"])


def test_a_missing_test_file_is_missed_before_training(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        train(tmp_path, reversing(60), [*TRANSLATOR, f"data.test={json.dumps(str(tmp_path / 'none.tsv'))}"])
    assert not (tmp_path / "run" / "model").exists()


def test_a_test_file_without_a_pair_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "blank.tsv").write_text("\n\n", "utf-8")
    with pytest.raises(InputError, match="no usable"):
        train(tmp_path, reversing(60), [*TRANSLATOR, f"data.test={json.dumps(str(tmp_path / 'blank.tsv'))}"])


@pytest.mark.parametrize(("peak", "steps"), [("100", 12), ("1e30", 6)])
def test_wild_weights_are_a_sentence_or_a_score_but_no_traceback(tmp_path: Path, peak: str, steps: int) -> None:
    settings = [*TRANSLATOR, f"training.lr.peak={peak}", f"training.steps={steps}"]
    try:
        train(tmp_path, reversing(60), settings)
    except InputError as error:
        assert "rate" in str(error)


def test_a_width_that_fits_the_suggested_heads_is_taken(tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "data.tsv", reversing(60))
    chosen = runs.resolve_recipe(None, data=data, dev=(), settings=["model.width=36"])
    assert chosen.to_table()["model"]["heads"] == 4


def test_the_suggested_steps_read_the_texts_of_a_classifier_many_times() -> None:
    table = planner.choose_preset([Pair("단어 " * 30, "좋다", "", 0)] * 5000, "structured_self_attention", "classification")["training"]
    assert table["steps"] * table["batch_tokens"] > 10 * 5000 * 30  # twelve rounds are meant


CAPTIONS = [Pair("ein Hund läuft über das Gras", "a dog runs across the grass", "", 0)] * 29_000


@pytest.mark.parametrize(("name", "time"), [("multi30k-de-en", math.inf), ("multi30k-short", planner.parse_duration("10m"))])
def test_data_between_few_and_many_get_what_won_on_the_captions(name: str, time: float) -> None:
    """The settings of the recipes that are measured, with little time or without a limit, are those of --data."""
    suggested = planner.choose_preset(CAPTIONS, time_budget=time)
    recipe = tomllib.loads((ROOT / f"recipes/{name}.toml").read_text("utf-8"))
    assert suggested["pieces"] == recipe["pieces"]
    assert suggested["model"] == recipe["model"]
    for setting in ("batch_tokens", "optimiser", "adam_share", "clip", "ema"):
        assert suggested["training"][setting] == recipe["training"][setting], setting
    assert suggested["training"]["rate"] == recipe["training"]["rate"] | {"hold": 0.0}
    assert suggested["decoding"] == recipe["decoding"]


def test_little_time_changes_neither_other_kinds_nor_other_amounts_of_data() -> None:
    assert planner.choose_preset(CAPTIONS, "rnn_attention", time_budget=300) == planner.choose_preset(CAPTIONS, "rnn_attention")
    assert planner.choose_preset(CAPTIONS, "rnn_attention")["decoding"]["alpha"] == 1.2
    assert planner.choose_preset(CAPTIONS[:99], time_budget=300) == planner.choose_preset(CAPTIONS[:99])
    assert planner.choose_preset(CAPTIONS[:99])["decoding"]["alpha"] == 1.2


def test_what_pairs_suggest_knows_the_time_but_not_for_a_model_that_has_begun(tmp_path: Path, translator: Path) -> None:
    sentences = [(f"{source} {at}", f"{at} {target}") for at, (source, target) in enumerate(reversing(10_000))]
    data = write_pairs(tmp_path / "data.tsv", sentences)

    def chosen(time: float, *settings: str) -> dict[str, Any]:
        return runs.resolve_recipe(None, data=data, dev=(), settings=settings, time_budget=time).to_table()

    short, long = chosen(600), chosen(601)
    assert (short["model"]["decoder_layers"], short["pieces"]["size"]) == (1, 3000)
    assert (long["model"]["decoder_layers"], long["pieces"]["size"]) == (2, 5000)
    assert chosen(600, "model.ffn_width=768")["model"]["inner"] == 768, "what is asked for wins"
    begin = f"training.init_from={translator}"
    assert chosen(600, begin) == chosen(601, begin)


def test_the_ledger_that_an_error_points_to_is_there(tmp_path: Path) -> None:
    (tmp_path / "data.tsv").write_text("no tab\n" * 5, "utf-8")
    with pytest.raises(InputError, match="ledger") as error:
        runs.train(run=tmp_path / "run", data=tmp_path / "data.tsv", settings=TRANSLATOR, quiet=True)
    assert Path(str(error.value).split("see ")[1]).exists()


HELD = [*FEW, *SHORT, "model.kind=conv_s2s", "model.width=16", "model.hidden=16", "model.max_positions=30"]
HELD += ["model.encoder_layers=1", "model.decoder_layers=1", "tokenizer.vocab_size=340", "data.max_tokens=25"]


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("translator"), reversing(60), TRANSLATOR)


def test_score_names_the_line_that_is_too_long(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = train(tmp_path, reversing(60), HELD)
    lines = write_pairs(tmp_path / "lines.tsv", [*((f"a {at}", "가") for at in range(600)), ("a", "가 " * 99)])
    assert main(["score", str(run), str(lines)]) == 2
    assert "601" in capsys.readouterr().err


def test_score_answers_each_line_that_somebody_types(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    class Typed(io.BytesIO):
        def __iter__(self) -> Iterator[bytes]:
            for line in (b"a\t1\n", b"b\t2\n"):
                events.append("typed")
                yield line

    class Terminal:
        buffer = Typed()

        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    events.extend("answered" for _ in verbs._read_pairs("-", needs_source=True))
    assert events == ["typed", "answered"] * 2


def test_an_unknown_tokeniser_is_a_sentence(translator: Path, tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.tsv", reversing(5))
    assert main(["evaluate", str(translator), "--data", str(pairs), "--tokenize", "foo"]) == 2


def test_a_run_that_would_lie_in_a_file_or_under_too_long_a_name_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = str(write_pairs(tmp_path / "data.tsv", reversing(20)))
    assert main(["train", "--data", data, "--run", data]) == 2
    assert "data.tsv: a file of this name is in the way; choose another folder" in capsys.readouterr().err
    assert main(["train", "--data", data, "--run", str(tmp_path / ("한" * 90))]) == 2  # 270 bytes in UTF-8
    assert "the name is too long; choose a shorter one" in capsys.readouterr().err


def test_a_long_text_in_the_place_of_the_run_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "나는 집에 간다. " * 20, "runs/mine"]) == 2
    assert "give the folder of a run or of a model" in capsys.readouterr().err


@pytest.mark.parametrize("name", [".", "folder"])
def test_view_into_a_folder_is_a_sentence(
    translator: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["view", str(translator), "a b", "-o", name]) == 2


@pytest.mark.parametrize("extra", [["--ensemble", "nowhere"], ["--lm", "nowhere"], ["--metrics", "bleu"]])
def test_evaluate_refuses_what_a_classifier_cannot_do(tmp_path: Path, extra: list[str]) -> None:
    run = train(tmp_path, moods(60), CLASSIFIER)
    assert main(["evaluate", str(run), "--data", str(tmp_path / "data.tsv"), *extra]) == 2


@pytest.mark.parametrize(
    "wrong", [["--set", "model.kind=[1]"], ["--set", "training.seed=20240101123456"], ["data.tsv/recipe.toml"]]
)
def test_bad_values_for_train_are_sentences(tmp_path: Path, wrong: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path / "data.tsv", reversing(60))
    settings = [word for one in TRANSLATOR for word in ("--set", one)]
    assert main(["train", *wrong, "--data", "data.tsv", "--run", "run", *settings]) in (0, 2)


def test_a_run_with_a_damaged_record_or_another_recipe_does_not_go_on_and_says_why(tmp_path: Path) -> None:
    run = train(tmp_path, reversing(60), TRANSLATOR)
    record, recipe = (run / "data.json").read_text("utf-8"), (run / "run.toml").read_text("utf-8")
    for half in (record[: len(record) // 2], "", "3"):
        (run / "data.json").write_text(half, "utf-8")
        with pytest.raises(InputError, match=r"data\.json: damaged; remove it"):
            runs.resume(run, quiet=True)
    (run / "data.json").unlink()
    for old, new in (("inner = 16", "inner = 32"), ("encoder_layers = 1", "encoder_layers = 2"), ("muon", "adam")):
        assert old in recipe
        (run / "run.toml").write_text(recipe.replace(old, new), "utf-8")
        with pytest.raises(InputError, match=r"bring back the run\.toml"):
            runs.resume(run, quiet=True)
    (run / "run.toml").write_text("", "utf-8")
    with pytest.raises(InputError, match=r"run\.toml: names nothing to learn from; bring it back"):
        runs.resume(run, quiet=True)
    (run / "run.toml").write_text(recipe, "utf-8")
    assert runs.resume(run, quiet=True).step == 2


def test_a_finished_run_whose_model_is_gone_does_not_say_that_it_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = train(tmp_path, reversing(60), TRANSLATOR)
    weights = (run / "model" / "weights.safetensors").read_bytes()
    shutil.rmtree(run / "model")
    assert main(["train", "--resume", str(run)]) == 2
    said = capsys.readouterr().err
    assert "done" not in said
    assert f"or remove {run / 'checkpoints'} first" in said
    shutil.rmtree(run / "checkpoints")
    assert main(["train", "--resume", str(run)]) == 0
    assert (run / "model" / "weights.safetensors").read_bytes() == weights, "as the sentence has promised"
