"""Attacks on parsers alone, with one file or none: cheap enough for 100,000 cases."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

from torch import nn

import fuzz_corpora
from attacks.damage import damage_bytes, damage_header, damage_json, damage_tensors, damage_text, replace, sha256
from attacks.fixture import TEXTS, Fixture, copy_folder
from attacks.outcomes import Outcome, WrongAnswerError
from tongsa import tensor_file
from tongsa.bounded_files import MalformedTextError
from tongsa.bundle import load_bundle
from tongsa.bundle_description import read_description
from tongsa.config import ConfigError, build_config
from tongsa.decoding.engines.ctranslate2_files import load_metadata, verify_files
from tongsa.errors import InputError
from tongsa.models import KINDS
from tongsa.tensor_file import TensorMismatchError
from tongsa.tokenization.labels import LabelTokenizer
from tongsa.tokenization.subword import SubwordTokenizer
from tongsa.training.checkpoint_files import DamagedCheckpointError, read_record

Parse = Callable[[Random, Fixture, Path], Outcome]


def refused_by(*errors: type[Exception]) -> Callable[[Parse], Parse]:
    """Count errors of a parser that its callers explain, and raise as InputError."""

    def decorate(parse: Parse) -> Parse:
        def attack(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
            try:
                return parse(rng, fixture, scratch)
            except errors:
                return Outcome.REFUSED

        return attack

    return decorate


@refused_by(ConfigError)
def parse_description(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    old = _content(rng.choice([fixture.run / "model", *fixture.kinds.values()]) / "model.toml")
    new = damage_text(old, rng, ".toml")
    (scratch / "model.toml").write_bytes(new)
    description = read_description(scratch)
    if description.kind in KINDS:
        build_config(KINDS[description.kind], description.model, "model")
    return Outcome.NO_EFFECT if new == old else Outcome.OTHER_CONTENT


@refused_by(TensorMismatchError, MalformedTextError)
def parse_tensors(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    """Read a changed tensor file with its new checksum, for the model that it was written from."""
    folder = rng.choice([fixture.run / "model", *fixture.kinds.values()])
    old = _content(folder / "weights.safetensors")
    new = rng.choice((damage_header, damage_header, damage_tensors, damage_bytes))(old, rng)
    path = scratch / "weights.safetensors"
    path.write_bytes(new)
    with tensor_file.open_tensors(path) as weights:
        tensor_file.check_finite(tensor_file.load_verified(weights, sha256(new), _model(folder)))
    return Outcome.NO_EFFECT if new == old else Outcome.OTHER_CONTENT


@refused_by(InputError)
def parse_tokenizer(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    del scratch
    content = _content(fixture.run / "model" / "tokenizer.model")
    tokenizer = SubwordTokenizer(damage_bytes(content, rng))
    for text in TEXTS:
        tokens = tokenizer.encode(text)
        tokenizer.decode(tokens)
        tokenizer.token_strings(tokens)
        tokenizer.sample_all([text], 0.5, [1])
    return Outcome.OTHER_CONTENT


@refused_by(InputError)
def parse_labels(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    del fixture, scratch
    old = '["a", "나", "다"]'.encode()
    new = damage_json(old, rng)
    tokenizer = LabelTokenizer.from_bytes(new)
    tokenizer.decode(tokenizer.encode(tokenizer.labels[0]))
    return Outcome.NO_EFFECT if new == old else Outcome.OTHER_CONTENT


def parse_export(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    """Check an export with one changed file: a change may not pass."""
    folder = copy_folder(fixture.run / rng.choice(("ctranslate2", "ctranslate2-int8")), scratch / "export")
    path = rng.choice(sorted(folder.iterdir()))
    old, metadata = path.read_bytes(), load_metadata(folder)
    new = damage_text(old, rng, path.suffix)
    replace(path, new)
    changed = load_metadata(folder)
    verify_files(folder, changed)
    if new != old and (changed != metadata or path.name != "tongsa.json"):
        raise WrongAnswerError(f"a changed {path.name} is accepted")
    return Outcome.NO_EFFECT


@refused_by(DamagedCheckpointError)
def parse_progress(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    """Read the counters of a checkpoint after damage: no changed value may pass."""
    source = max((fixture.run / "checkpoints").iterdir())
    folder = copy_folder(source, scratch / source.name)
    path = folder / "progress.json"
    replace(path, damage_json(path.read_bytes(), rng))
    if read_record(folder) != _record(source):
        raise WrongAnswerError("changed counters are accepted")
    return Outcome.NO_EFFECT


def parse_corpus(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    del fixture
    name, outcome, reason = fuzz_corpora.run_case(rng.randrange(1 << 60), 0, scratch)
    if outcome == "refused":
        return Outcome.REFUSED
    if outcome == "wrong counts":
        raise WrongAnswerError(f"{name}: {reason}")
    if outcome != "read":
        raise ValueError(f"{name}: {outcome} {reason}")
    return Outcome.OTHER_CONTENT


@cache
def _content(path: Path) -> bytes:
    return path.read_bytes()


@cache
def _model(folder: Path) -> nn.Module:
    return load_bundle(folder).model


_record = cache(read_record)
