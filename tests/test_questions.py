"""The numbers worked out in docs/questions.md and its Korean page are computed again."""

import math
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from tiny import padded_batch, tiny
from tongsa.nn.norms import BatchNorm, build_norm
from tongsa.nn.positions import sinusoids
from tongsa.tokenization.special import BOS, EOS
from tongsa.training.loss import cross_entropy

DOCS = Path(__file__).parent.parent / "docs"
PAGES = [DOCS / "questions.md", DOCS / "ko/questions.md"]


def format_number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}"


def positions() -> list[str]:
    wide, narrow = sinusoids(4, 512)[3], sinusoids(4, 4)[3]
    return [
        f"= {format_number(wide[2].item(), 4)}",
        f"= {format_number(wide[3].item(), 4)}",
        f"= {format_number(narrow[2].item(), 4)}",
    ]


def norms() -> list[str]:
    every_token = torch.ones(1, 3, dtype=torch.bool)
    batch = BatchNorm(1)(torch.tensor([[[3.0], [5.0], [-2.0]]]), every_token)  # three tokens of one node
    vector = torch.tensor([[[3.0, 5.0, -2.0, 2.0]]])
    layer, group = (build_norm(kind, 4, 2)(vector, every_token[:, :1]).flatten() for kind in ("layer", "group"))
    return [
        ", ".join(format_number(value, 3) for value in batch.flatten().tolist()),
        "(" + ", ".join(format_number(value, 3) for value in layer[:3].tolist()) + ", 0)",
        "(" + ", ".join(format_number(value, 0) for value in group.tolist()) + ")",
    ]


def recurrent_path(source_words: int, source_position: int, target_position: int) -> int:
    """Count cells from a source word to an output word by walking through encoder and decoder."""
    encoder_cells = sum(1 for position in range(1, source_words + 1) if position >= source_position)
    return encoder_cells + len(range(target_position))


def path_and_layers() -> list[str]:
    layers, seen = 0, 1
    while seen < 27:
        layers, seen = layers + 1, 3 * seen
    return [f"(3 - 1 + 1) + 3 = {recurrent_path(3, 1, 3)}", f"27 = {layers}", f"(27 - 1) / 2 = {math.ceil(26 / 2)}"]


def loss() -> list[str]:
    logits = torch.tensor([0.5, 2.0, 1.0], requires_grad=True)
    cross_entropy = F.cross_entropy(logits, torch.tensor(1))
    cross_entropy.backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    tuples = [values.tolist() for values in (logits.softmax(0).detach(), logits.grad)]
    smoothed = 1 - 0.1 + 0.1 / 37_000
    return [
        *("(" + ", ".join(format_number(value, 3) for value in values) + ")" for values in tuples),
        f"= {format_number(cross_entropy.item(), 3)}",
        f"1 / {format_number(smoothed, 6)} = {format_number(1 / smoothed, 3)}",
    ]


def masks() -> list[str]:
    scores = torch.tensor([2.0, 1.0, 0.0])
    before = scores.masked_fill(torch.tensor([False, False, True]), -math.inf).softmax(0)
    after = scores.softmax(0)[:2]
    assert torch.allclose(before[:2], after / after.sum())
    first, second = after.tolist()
    return [
        f"({format_number(before[0].item(), 4)}, {format_number(before[1].item(), 4)}, 0)",
        f"{format_number(first, 4)} + {format_number(second, 4)} = {format_number(first + second, 4)}",
    ]


def products() -> list[str]:
    return [
        f"0.9²⁰ ≈ {format_number(0.9**20, 4)}",
        f"0.9⁵⁰ ≈ {format_number(0.9**50, 4)}",
        format_number(1.1**50, 1),
        f"0.9¹² ≈ {format_number(0.9**12, 4)}",
        f"0.5²⁴ ≈ {0.5**24:.1e}".replace("e-0", "e-"),
        f"e⁸ ≈ {format_number(math.exp(8), 0)}",
        f"= {512**-0.5 * 4000**-0.5 * 1e4:.2f}e-4",
        f"{37_000 * 512:,}",
        f"{2 * 37_000 * 512:,}",
        f"{4 * 512 * 512:,}",
        f"{100 * 100 * 64:,}",
    ]


@pytest.mark.parametrize("page", PAGES, ids=["en", "ko"])
@pytest.mark.parametrize(
    "numbers", [positions, norms, path_and_layers, loss, masks, products], ids=lambda f: f.__name__
)
def test_worked_numbers_are_right(numbers: object, page: Path) -> None:
    assert callable(numbers)
    text = page.read_text("utf-8")
    assert [number for number in numbers() if number not in text] == []


def test_multiplications_of_a_layer() -> None:
    n, d = 50, 512
    counts = [4 * n * d**2 + 2 * n**2 * d, 2 * n * d**2, 6 * n * d**2, 8 * n * d**2]
    english, korean = (page.read_text("utf-8") for page in PAGES)
    assert [count for count in counts if f"{count / 1e6:.2f} million" not in english] == []
    assert [count for count in counts if f"{round(count / 1e4):,}만 번" not in korean] == []


def test_both_pages_ask_the_same_questions_and_link_to_the_same_studies() -> None:
    english, korean = (page.read_text("utf-8").split("\n### ")[1:] for page in PAGES)
    assert len(english) == len(korean) > 30
    for answer, translation in zip(english, korean, strict=True):
        assert studies(answer) == studies(translation), answer.splitlines()[0]


def studies(answer: str) -> list[str]:
    """Return the studies and tests that an answer links to."""
    return re.findall(r"\((?:\.\./)+(studies/\w+|tests/[\w/]+\.py)", answer)


@pytest.mark.parametrize("page", PAGES, ids=["en", "ko"])
def test_every_answer_links_to_a_study_or_a_test(page: Path) -> None:
    for answer in page.read_text("utf-8").split("\n### ")[1:]:
        assert studies(answer), answer.splitlines()[0]
        for target in re.findall(r"\]\(([^)#]+)", answer):
            assert (page.parent / target).exists(), target


def train_on_contexts(seed: int) -> tuple[float, float]:
    """Return the cosine of two words with the same next word, and of one of them with a word that has another one."""
    dog, cat, stone, barks, falls = range(4, 9)
    texts = [[dog, barks, EOS], [cat, barks, EOS], [stone, falls, EOS]]
    model = tiny("rnn_lm, tanh", seed).train()
    inputs, nothing = padded_batch(*([BOS, *text[:-1]] for text in texts)), padded_batch([], [], [])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(150):
        loss, _ = cross_entropy(model(nothing, inputs), padded_batch(*texts), 0.0)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()
    vectors = dict(model.named_parameters())["decoder.embedding.weight"].detach()
    same, other = (F.cosine_similarity(vectors[dog], vectors[word], dim=0).item() for word in (cat, stone))
    return same, other


def test_words_with_the_same_continuations_get_similar_embeddings() -> None:
    same, other = torch.tensor([train_on_contexts(seed) for seed in range(8)]).mean(0).tolist()
    assert same > other + 0.4
