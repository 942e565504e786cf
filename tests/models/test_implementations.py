"""The settings of recipes/implementations build the known implementations: the same weights give the same logits."""

import copy
import tomllib
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.testing import assert_close

from models.rewritten import REWRITTEN
from models.rewritten_layers import Inputs
from tiny import SIZE, padded_batch, sentence
from tongsa.config import to_table
from tongsa.interface import EncoderDecoder, load_tensors, named_tensors
from tongsa.models.structured_self_attention import StructuredSelfAttentionConfig
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.runs import planner
from tongsa.tokenization.special import BOS

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
RECIPES = Path(__file__).parents[2] / "recipes/implementations"
implementations = pytest.mark.parametrize("name", REWRITTEN)
SIZES = {"width": 16, "ffn_width": 24, "heads": 2, "encoder_layers": 2, "decoder_layers": 2, "max_positions": 32}
ONLY_IN_TRAINING = {"dropout", "ffn_dropout", "attention_dropout", "initialization", "tie_embeddings", *SIZES}
"""Settings of a recipe that do not change what a model computes from its weights."""
SOURCE, TARGET = padded_batch(sentence(5), sentence(9)), padded_batch([BOS, *sentence(7, 1)], [BOS, *sentence(4, 1)])


def recipe_config(name: str) -> TransformerConfig:
    model = planner.resolve_recipe(RECIPES / f"{name}.toml", data="my.tsv").model
    assert isinstance(model, TransformerConfig)
    return replace(model, **SIZES)  # type: ignore[arg-type]


def random_model(config: TransformerConfig, name: str) -> EncoderDecoder:
    """Return a model in which no parameter has its initial zero or one."""
    torch.manual_seed(4)
    model: Any = config.build(SIZE, SIZE).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        if name.startswith("tensor2tensor"):  # its decoder starts from a zero vector
            model.encoder.embedding.token_embedding.weight[BOS] = 0
    return model  # type: ignore[no-any-return]


@torch.no_grad()
def rewritten_logits(name: str, model: EncoderDecoder, eps: float) -> Tensor:
    function, _ = REWRITTEN[name]
    return function(copy.deepcopy(model), Inputs(SOURCE.tokens, SOURCE.mask, TARGET.tokens), eps)[TARGET.mask]


@torch.no_grad()
def our_logits(model: EncoderDecoder) -> Tensor:  # (token of the batch, vocabulary)
    logits: Tensor = model(SOURCE, TARGET)
    return logits[TARGET.mask]


def test_every_recipe_has_a_rewritten_network() -> None:
    assert {path.stem for path in RECIPES.glob("*.toml")} == REWRITTEN.keys()


@implementations
def test_the_same_weights_give_the_same_logits(name: str) -> None:
    model = random_model(recipe_config(name), name)
    eps = 5e-6 if name == "annotated-transformer" else 1e-5  # there it is added to the deviation, not to the variance
    assert_close(rewritten_logits(name, model, eps), our_logits(model), atol=1e-5, rtol=0)


@implementations
def test_another_epsilon_in_the_norms_changes_little(name: str) -> None:
    """The one number of the layers that is no setting."""
    model = random_model(recipe_config(name), name)
    assert_close(rewritten_logits(name, model, REWRITTEN[name][1]), our_logits(model), atol=1e-4, rtol=0)


@implementations
def test_each_setting_of_a_recipe_changes_the_logits(name: str) -> None:
    """So the comparison above can fail, and no recipe has a setting too many."""
    config = recipe_config(name)
    model = random_model(config, name)
    deviations = list(without_one_setting(config))
    assert deviations
    for key, other in deviations:
        other_model = random_model(other, name)
        copy_weights(other_model, model)
        assert (our_logits(other_model) - our_logits(model)).abs().max() > 1e-3, key


def without_one_setting(config: TransformerConfig) -> Iterator[tuple[str, TransformerConfig]]:
    """Yield each setting in which a configuration differs from the paper's, and the configuration without it."""
    paper = TransformerConfig()
    for field in fields(config):
        value = getattr(paper, field.name)
        if field.name in ONLY_IN_TRAINING | {"sinusoid"} or getattr(config, field.name) == value:
            continue
        changes = {field.name: value} | ({"final_norm": "auto"} if field.name == "norm" else {})
        yield field.name, replace(config, **changes)
    for field in fields(config.sinusoid):
        value = getattr(paper.sinusoid, field.name)
        if getattr(config.sinusoid, field.name) != value:
            yield field.name, replace(config, sinusoid=replace(config.sinusoid, **{field.name: value}))


def copy_weights(model: EncoderDecoder, source: EncoderDecoder) -> None:
    """Copy all weights that both models have."""
    weights = named_tensors(source)
    load_tensors(model, {name: weights.get(name, value) for name, value in named_tensors(model).items()})


def test_recipes_are_complete() -> None:
    """A recipe that leaves out a setting would change with the defaults of tongsa."""
    required = {"width", "ffn_width", "heads", "encoder_layers", "decoder_layers", "dropout", "norm", "tie_embeddings"}
    for path in RECIPES.glob("*.toml"):
        model = tomllib.loads(path.read_text("utf-8"))["model"]
        assert required | {"initialization", "kind"} <= model.keys(), path.name


class NSMCStudy(nn.Module):
    """The classifier of simonjisu/nsmc_study 639f40b, model/bidirec_LSTM.py, written again. It has no padding mask."""

    def __init__(self, config: StructuredSelfAttentionConfig) -> None:
        super().__init__()
        width = 2 * config.width
        self.embedding = nn.Embedding(SIZE, config.embedding)
        self.lstm = nn.LSTM(config.embedding, config.width, config.layers, batch_first=True, bidirectional=True)
        self.hidden = nn.Linear(width, config.attention, bias=False)
        self.scores = nn.Linear(config.attention, config.hops, bias=False)
        self.classifier = nn.Sequential(
            nn.Linear(config.hops * width, config.hidden), nn.ReLU(), nn.Linear(config.hidden, 1)
        )

    def copy_from(self, model: Any) -> None:
        encoder, head = model.encoder, model.decoder
        self.embedding.load_state_dict(encoder.embedding.state_dict())
        self.hidden.load_state_dict(encoder.hop_attention.hidden_projection.state_dict())
        self.scores.load_state_dict(encoder.hop_attention.score_projection.state_dict())
        self.classifier[0].load_state_dict(head.hidden_layer.state_dict())
        label = {key: value[1:] - value[:1] for key, value in head.output_layer.state_dict().items()}
        self.classifier[2].load_state_dict(label)  # the sigmoid of a difference is a softmax over two labels
        for number, layer in enumerate(encoder.layers):
            for direction, suffix in ((layer.forward_lstm, ""), (layer.backward_lstm, "_reverse")):
                for key, value in direction.named_parameters():
                    getattr(self.lstm, key.replace("l0", f"l{number}") + suffix).data.copy_(value)

    def forward(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        packed = pack_padded_sequence(self.embedding(tokens), lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        weights = self.scores(self.hidden(states).tanh()).mT.softmax(dim=2)  # (batch, hop, position)
        return self.classifier((weights @ states).flatten(1)), weights


@torch.no_grad()
def test_the_settings_of_nsmc_study_give_its_probabilities_without_padding() -> None:
    """Its attention has no mask: in a batch, padding takes weight from the words of the shorter sentence."""
    config = StructuredSelfAttentionConfig(embedding=6, width=5, layers=3, attention=7, hops=5, hidden=8, penalty=0.3)
    torch.manual_seed(2)
    model = config.build(SIZE, 2).eval()
    theirs = NSMCStudy(config)
    theirs.copy_from(model)
    for row in (sentence(5), sentence(9)):
        logits = model(padded_batch(row), padded_batch([BOS]))[0, 0]
        assert_close(theirs(torch.tensor([row]), torch.tensor([len(row)]))[0][0], logits[1:] - logits[:1])
    batch = padded_batch(sentence(5), sentence(9))
    _, weights = theirs(batch.tokens, batch.lengths)
    assert weights[0, :, 5:].sum(dim=1).min() > 0.1


def settings_table() -> str:
    """Return the table of docs/implementations.md: the settings of each recipe that differ from the defaults."""
    lines = ["| name | `--set` |", "|---|---|"]
    for path in sorted(RECIPES.glob("*.toml")):
        model = tomllib.loads(path.read_text("utf-8"))["model"]
        kept = {key: value for key, value in model.items() if key not in (*SIZES, "kind", "dropout")}
        defaults = to_table(TransformerConfig())
        pairs = [(f"model.{key}", value, defaults[key]) for key, value in kept.items() if key != "sinusoid"]
        formula = kept.get("sinusoid", {})
        pairs += [(f"model.sinusoid.{key}", value, defaults["sinusoid"][key]) for key, value in formula.items()]
        changes = [f"{key}={str(value).lower()}" for key, value, default in pairs if value != default]
        lines.append(f"| `{path.stem}` | {' '.join(f'`{change}`' for change in changes)} |")
    return "\n".join(lines)


@pytest.mark.parametrize("page", ["docs/implementations.md", "docs/ko/implementations.md"])
def test_the_documents_have_the_settings_of_the_recipes(page: str) -> None:
    text = (RECIPES.parents[1] / page).read_text("utf-8")
    assert f"<!-- settings -->\n{settings_table()}\n<!-- end -->" in text
