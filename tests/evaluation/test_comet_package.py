"""COMET with the package unbabel-comet, which scores with a tiny model that is built here."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tongsa
from command_line import follow_remedy, run_command
from tiny import reversing, write_pairs
from tongsa.errors import InputError
from tongsa.evaluation.comet import comet_statistics, load_comet

if not importlib.util.find_spec("comet"):
    pytest.skip(
        "the package unbabel-comet is not installed: it needs numpy 1 and transformers 4, so an environment of its own "
        "(docs/guide.md)",
        allow_module_level=True,
    )

pytestmark = pytest.mark.slow
LETTERS = "abcdefghijklmnopqrstuvwxyz가나다라마바사아자차카타파하"
PAIRS = reversing(40, seed=9)
SOURCES, REFERENCES = [source for source, _ in PAIRS], [target for _, target in PAIRS]
CHECKPOINT_KEYS = ("state_dict", "hyper_parameters", "pytorch-lightning_version")
"""What a checkpoint of weights alone has (docs/guide.md)."""


def save_encoder(folder: Path) -> None:
    """Save the settings of a tiny XLM-R and a tokenizer of single letters, as a pretrained encoder has them."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import XLMRobertaConfig, XLMRobertaTokenizerFast

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    vocabulary = [*((token, 0.0) for token in special), *((letter, -3.0) for letter in f"▁{LETTERS}")]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    XLMRobertaTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
    XLMRobertaConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=66,
        type_vocab_size=1,
        initializer_range=0.5,  # the usual 0.02 would give all sentences almost the same score
    ).save_pretrained(folder)


@pytest.fixture(scope="module", name="checkpoint")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the checkpoint of a COMET model with random weights, stored as the package stores them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pytest makes errors of them
        import pytorch_lightning
        from comet.models import RegressionMetric

        folder = tmp_path_factory.mktemp("comet") / "tiny-comet"
        save_encoder(folder / "encoder")
        torch.manual_seed(0)
        model = RegressionMetric(
            pretrained_model=str(folder / "encoder"), load_pretrained_weights=False, hidden_sizes=[8]
        )
        trainer = pytorch_lightning.Trainer(logger=False, accelerator="cpu", enable_progress_bar=False)
        trainer.strategy.connect(model)
        trainer.save_checkpoint(folder / "checkpoints/model.ckpt")
    (folder / "hparams.yaml").write_text(json.dumps(dict(model.hparams)), "utf-8")  # JSON is YAML
    return folder / "checkpoints/model.ckpt"


@pytest.fixture(name="copy")
def copied_checkpoint(checkpoint: Path, tmp_path: Path) -> Callable[[Any], Path]:
    """Return a function that stores a changed checkpoint beside its hparams.yaml."""
    folder = tmp_path / "copy"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "hparams.yaml").write_bytes((checkpoint.parents[1] / "hparams.yaml").read_bytes())

    def save(content: Any) -> Path:
        path = folder / "checkpoints/model.ckpt"
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            torch.save(content, path)
        return path

    return save


def package_scores(checkpoint: Path, outputs: list[str]) -> list[float]:
    """Return what the package itself computes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from comet import load_from_checkpoint

        samples = [
            {"src": source, "mt": output, "ref": reference}
            for source, output, reference in zip(SOURCES, outputs, REFERENCES, strict=True)
        ]
        scores: list[float] = load_from_checkpoint(str(checkpoint)).predict(samples, gpus=0, progress_bar=False).scores
    return scores


def test_scores_of_evaluate_are_those_of_the_package(checkpoint: Path, trained: Path) -> None:
    from comet import __version__

    report = tongsa.evaluate(trained, pairs=PAIRS, metrics=["comet"], comet_model=checkpoint, by="length")
    expected = 100 * np.array(package_scores(checkpoint, report.outputs))
    assert np.array_equal(report.statistics["comet"].sentence_values(), expected)
    assert expected.std() > 1  # the sentences can be told apart: their order matters
    score = report.scores["comet"]
    assert score.value == pytest.approx(expected.mean(), abs=1e-9)
    assert score.interval is not None and score.interval[0] < score.value < score.interval[1]
    assert score.signature.startswith(f"comet|model:tiny-comet|version:{__version__}|scale:100|beam:")
    assert "comet" in str(report.slices[0])


def test_two_files_of_outputs_are_compared(checkpoint: Path, tmp_path: Path) -> None:
    outputs = {"same": REFERENCES, "reversed": REFERENCES[::-1]}
    for name, lines in outputs.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n", "utf-8")
    systems = [tmp_path / f"{name}.txt" for name in outputs]
    comparison = tongsa.compare(systems, pairs=PAIRS, metrics=["comet"], comet_model=checkpoint)
    scores = {name: 100 * np.array(package_scores(checkpoint, lines)) for name, lines in outputs.items()}
    for name in outputs:
        assert comparison.score(name, "comet") == pytest.approx(scores[name].mean(), abs=1e-9)
    interval = comparison.metrics["comet"].pairs[0].test.interval
    assert interval[0] < (scores["same"] - scores["reversed"]).mean() < interval[1]
    assert "COMET, 1 pair" in str(comparison)


def test_results_are_on_standard_output_alone_and_the_package_is_quiet(
    checkpoint: Path, trained: Path, tmp_path: Path
) -> None:
    write_pairs(tmp_path / "test.tsv", PAIRS)
    command = ["evaluate", str(trained), "--data", "test.tsv", "--metrics", "comet", "--comet-model", str(checkpoint)]
    result = subprocess.run(
        [sys.executable, "-m", "tongsa", *command, "--json"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    record = json.loads(result.stdout)  # one JSON object and nothing else
    report = tongsa.evaluate(trained, pairs=PAIRS, metrics=["comet"], comet_model=checkpoint)
    assert record["comet"] == round(report.scores["comet"].value, 4)
    assert record["intervals"]["comet"] and record["signatures"]["comet"] == report.scores["comet"].signature
    for noise in ("Warning", "Tip", "Predicting", "GPU", "frozen", "deprecated"):
        assert noise not in result.stderr


def test_a_metric_without_a_model_asks_for_one(checkpoint: Path, trained: Path, tmp_path: Path) -> None:
    write_pairs(tmp_path / "test.tsv", PAIRS)
    command = ["evaluate", trained, "--data", "test.tsv", "--metrics", "comet"]
    failed = run_command(*command, cwd=tmp_path)
    assert failed.code == 2
    result = run_command(*follow_remedy(command, failed.error, {"FILE": checkpoint}), cwd=tmp_path)
    assert result.code == 0, result.stderr
    assert result.stdout.startswith("comet ")
    for wrong in (checkpoint.parent / "missing.ckpt", checkpoint.parents[1]):
        failed = run_command(*command, "--comet-model", wrong, cwd=tmp_path)
        assert failed.code == 2
        assert "Give the checkpoint of a downloaded model (checkpoints/model.ckpt)." in failed.error


def test_files_that_are_no_checkpoint_are_refused(checkpoint: Path, copy: Callable[[Any], Path]) -> None:
    content = torch.load(checkpoint, weights_only=True)
    damaged = checkpoint.read_bytes()[:20_000]
    for wrong in (b"", b"a text\n", damaged, torch.zeros(2), content["state_dict"]):
        with pytest.raises(InputError, match="not a checkpoint of PyTorch Lightning, or damaged"):
            load_comet(str(copy(wrong)))
    incomplete = content | {"state_dict": {key: content["state_dict"][key] for key in list(content["state_dict"])[1:]}}
    with pytest.raises(InputError, match=r"it has no weights of encoder\.\S+\. Download the model again\."):
        load_comet(str(copy(incomplete)))
    with pytest.raises(InputError, match=r"cannot load it \(KeyError"):
        load_comet(str(copy({key: content[key] for key in CHECKPOINT_KEYS[:2]})))
    load_comet(str(copy(content)))
    (copy(content).parents[1] / "hparams.yaml").unlink()
    with pytest.raises(InputError, match=r"no hparams\.yaml in .* Download the whole model"):
        load_comet(str(copy(content)))


class Attack:
    """An object whose unpickling creates a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Path]]:
        return Path.touch, (self.path,)


def test_a_checkpoint_with_code_is_not_run(checkpoint: Path, copy: Callable[[Any], Path], tmp_path: Path) -> None:
    content = torch.load(checkpoint, weights_only=True)
    path = copy(content | {"callbacks": Attack(tmp_path / "attacked")})
    with pytest.raises(InputError, match="contains Python objects besides weights"):
        load_comet(str(path))
    assert not (tmp_path / "attacked").exists()
    trusted = torch.load(path, weights_only=False)  # as the guide says
    load_comet(str(copy({key: trusted[key] for key in CHECKPOINT_KEYS})))
    assert (tmp_path / "attacked").exists()


def test_a_missing_encoder_is_named(checkpoint: Path, copy: Callable[[Any], Path]) -> None:
    content = torch.load(checkpoint, weights_only=True)
    for encoder in ("nobody/no-such-encoder", "/no/such/folder"):
        path = copy(content | {"hyper_parameters": content["hyper_parameters"] | {"pretrained_model": encoder}})
        with pytest.raises(InputError, match=f"its encoder, {encoder}, is not on this machine. Restore its folder"):
            load_comet(str(path))
    load_comet(str(checkpoint))


def test_a_model_in_the_cache_of_hugging_face_has_the_name_of_its_repository(checkpoint: Path, tmp_path: Path) -> None:
    cache = tmp_path / "models--Unbabel--wmt22-comet-da"
    snapshot, blobs = cache / "snapshots/371e98", cache / "blobs"
    for name in ("hparams.yaml", "checkpoints/model.ckpt"):  # the files are symbolic links
        blob, link = blobs / Path(name).stem, snapshot / name
        blob.parent.mkdir(exist_ok=True, parents=True)
        link.parent.mkdir(exist_ok=True, parents=True)
        blob.write_bytes((checkpoint.parents[1] / name).read_bytes())
        link.symlink_to(blob)
    model = load_comet(str(snapshot / "checkpoints/model.ckpt"))
    assert comet_statistics(model, ["a"], ["b"], ["c"]).signature.startswith("comet|model:wmt22-comet-da|")


def test_ctrl_c_interrupts_the_scoring(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from comet.models import RegressionMetric

    write_pairs(tmp_path / "test.tsv", PAIRS)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("\n".join(REFERENCES) + "\n", "utf-8")
    monkeypatch.setattr(RegressionMetric, "estimate", lambda *_: signal.raise_signal(signal.SIGINT))
    handler = signal.getsignal(signal.SIGINT)
    result = run_command("compare", "a.txt", "b.txt", "--data", "test.tsv", "--comet-model", checkpoint, cwd=tmp_path)
    assert (result.code, result.error) == (130, "interrupted")
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_package_that_cannot_be_imported_is_no_missing_package(checkpoint: Path) -> None:
    """Setuptools 82 has no pkg_resources, which the package needs."""
    program = (
        "import sys; sys.modules['pkg_resources'] = None; from tongsa.evaluation.comet import load_comet; "
        f"load_comet({str(checkpoint)!r})"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ)
    message = result.stderr.splitlines()[-1]
    assert "unbabel-comet cannot be imported: " in message and "pkg_resources" in message
    assert 'pip install unbabel-comet "setuptools<82"' in message
