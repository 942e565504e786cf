"""Classifiers and language models: train, evaluate, use."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

import tongsa
from tiny import reversing, write_pairs
from tongsa import bundle, runs
from tongsa.cli import main
from tongsa.errors import InputError

QUICK = [
    "tokenizer.vocab_size=300",
    "training.threads=1",
    "training.precision=fp32",
    "training.batch_tokens=256",
    "training.lr.schedule=linear",
    "training.lr.warmup=20",
]


def reviews_of(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Generate reviews with one word, anywhere, that determines the label."""
    generator, words = random.Random(seed), ["영화", "배우", "음악", "오늘", "정말", "그냥"]
    pairs = []
    for _ in range(count):
        label = generator.choice(["좋다", "나쁘다"])
        telling_words = {"좋다": ["최고", "재밌다"], "나쁘다": ["지루", "최악"]}[label]
        text = [generator.choice(words) for _ in range(generator.randint(1, 7))]
        text.insert(generator.randrange(len(text) + 1), generator.choice(telling_words))
        pairs.append((" ".join(text), label))
    return pairs


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reviews")
    settings = [*QUICK, "model.kind=structured_self_attention", "model.embedding=24", "model.width=16", "model.hops=3"]
    settings += ["model.attention=16", "model.hidden=24", "training.steps=150", "training.lr.peak=4e-3"]
    runs.train(
        run=folder / "run", data=write_pairs(folder / "reviews.tsv", reviews_of(600)), settings=settings, quiet=True
    )
    return folder / "run"


@pytest.fixture(scope="module")
def language_model(tmp_path_factory: pytest.TempPathFactory, trained: Path) -> Path:
    """Train a language model on sentences of 가 only, with the tokenizer of the translator."""
    folder = tmp_path_factory.mktemp("language model")
    generator = random.Random(5)
    lines = ["가 " * generator.randint(1, 6) for _ in range(400)]
    (folder / "texts.txt").write_text("\n".join(lines) + "\n", "utf-8")
    settings = [*QUICK, "model.kind=rnn_lm", "model.width=32", "model.layers=1", "training.steps=300"]
    settings += ["training.lr.peak=1e-2", f"tokenizer.reuse_from={json.dumps(str(trained))}"]
    runs.train(run=folder / "run", data=folder / "texts.txt", settings=settings, quiet=True)
    return folder / "run"


def test_a_classifier_learns_its_labels(reviews: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tongsa.load(reviews, task="classification")
    pairs = reviews_of(200, seed=9)
    answers = model.classify([text for text, _ in pairs])
    assert sum(answer.label == label for answer, (_, label) in zip(answers, pairs, strict=True)) > 190
    assert sum(answers[0].probabilities.values()) == pytest.approx(1)
    write_pairs(reviews.parent / "test.tsv", pairs)
    assert main(["evaluate", str(reviews), "--data", str(reviews.parent / "test.tsv"), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    right = sum(answer.label == label for answer, (_, label) in zip(answers, pairs, strict=True))
    assert scores["accuracy"] == pytest.approx(100 * right / 200)


def test_classify_gives_a_label_for_each_line(
    reviews: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ["정말 최고 영화", "", "배우 지루", "Der Hund 최고", "배우 " * 40]
    (tmp_path / "lines.txt").write_text("\n".join(texts) + "\n", "utf-8")
    assert main(["classify", str(reviews), str(tmp_path / "lines.txt")]) == 0
    printed = capsys.readouterr()
    labels = [line.split("\t")[0] for line in printed.out.splitlines()]
    assert len(labels) == len(texts) and (labels[0], labels[2]) == ("좋다", "나쁘다")
    assert [line.rpartition("lines.txt:")[2] for line in printed.err.splitlines()] == [
        "4: not in the training data: Der, Hund",
        "5: much longer than any text of the training data",
    ]
    assert main(["classify", str(reviews), str(tmp_path / "lines.txt"), "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["unseen_words"] for record in records] == [[], [], [], ["Der", "Hund"], []]
    assert [record["longer_than_training"] for record in records] == [False] * 4 + [True]


def test_the_embedding_is_the_matrix_of_the_hops(reviews: Path) -> None:
    model = tongsa.load(reviews, task="classification")
    single, batched = model.embed(["정말 최고"]), model.embed(["배우 음악 오늘 그냥 정말 지루", "정말 최고"])
    assert single[0].shape == (3, 32)
    assert np.allclose(single[0], batched[1], atol=1e-5)


def test_the_hops_are_recorded_and_shown(reviews: Path, tmp_path: Path) -> None:
    answer = tongsa.load(reviews, task="classification")("영화 음악 최악 오늘")
    (hops,) = answer.attention["hops"]
    tokens = [*answer.source_tokens, "</s>"]
    words = "".join(tokens).split("▁")
    assert "최악" in words
    assert hops.shape == (1, 3, len(tokens))
    assert main(["view", str(reviews), "영화 음악 최악 오늘", "-o", str(tmp_path / "hops.html")]) == 0
    assert "hops" in (tmp_path / "hops.html").read_text("utf-8")


def test_an_unknown_label_is_an_error(reviews: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_pairs(tmp_path / "unseen.tsv", [("정말 최고", "그저 그렇다")])
    assert main(["score", str(reviews), str(tmp_path / "unseen.tsv")]) == 2
    assert "그저 그렇다" in capsys.readouterr().err


def test_a_language_model_samples_from_its_training_distribution(
    language_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", str(language_model), "--count", "20", "--temperature", "0.5"]) == 0
    texts = capsys.readouterr().out.splitlines()
    assert len(texts) == 20
    assert sum(set(text.split()) == {"가"} for text in texts) >= 18
    assert main(["sample", str(language_model), "--count", "20", "--temperature", "0.5"]) == 0
    assert capsys.readouterr().out.splitlines() == texts


def test_the_score_of_a_text_is_the_sum_over_its_tokens(
    language_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "texts.txt").write_text("가 가\n나\n", "utf-8")
    assert main(["score", str(language_model), str(tmp_path / "texts.txt"), "--json"]) == 0
    seen, unseen = map(json.loads, capsys.readouterr().out.splitlines())
    assert seen["log_prob"] == pytest.approx(sum(token["log_prob"] for token in seen["tokens"]))
    assert seen["tokens"][-1]["token"] == "</s>"  # noqa: S105
    assert unseen["log_prob"] < seen["log_prob"]


def test_samples_have_their_log_probability(language_model: Path) -> None:
    generator = tongsa.load(language_model, task="language_model")
    for text, total in generator.sample(5):
        if text and len(generator.target_tokenizer.encode_all([text])[0]) < 90:
            again = sum(generator.score_texts([text])[0])
            assert again <= total + 1e-3 or again == pytest.approx(total, abs=1e-3)


def test_shallow_fusion_follows_the_language_model(
    trained: Path, language_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.txt").write_text("b c d\n", "utf-8")
    outputs = []
    for weight in ("0", "1000"):
        arguments = ["translate", str(trained), str(tmp_path / "in.txt"), "--lm", str(language_model)]
        assert main([*arguments, "--lm-weight", weight]) == 0
        outputs.append(capsys.readouterr().out.strip())
    assert outputs[0] == tongsa.load(trained, task="seq2seq")("b c d").text
    assert set(outputs[1].split()) <= {"가"}


def test_rerank_sorts_the_candidates_by_score(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    candidates = [("a b", "가 나"), ("a b", "나 가"), ("a b", "바 바"), ("c", "라"), ("c", "다")]
    write_pairs(tmp_path / "nbest.tsv", candidates)
    assert main(["score", str(trained), str(tmp_path / "nbest.tsv"), "--rerank"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [(row[2], row[3]) for row in rows][:1] == [("a b", "나 가")]
    assert [row[3] for row in rows if row[2] == "c"] == ["다", "라"]
    assert sorted((row[2], row[3]) for row in rows) == sorted(candidates)


def test_an_ensemble_of_a_model_with_itself_changes_nothing(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_pairs(tmp_path / "test.tsv", reversing(40, seed=8))
    outputs = []
    for extra in ([], ["--ensemble", str(trained)]):
        assert main(["evaluate", str(trained), "--data", str(tmp_path / "test.tsv"), "--json", *extra]) == 0
        outputs.append(json.loads(capsys.readouterr().out))
    assert outputs[0]["exact_match"] == outputs[1]["exact_match"]
    assert "models:2" in outputs[1]["signatures"]["bleu"]


def test_an_ensemble_needs_equal_tokenizers(trained: Path, reviews: Path) -> None:
    with pytest.raises(InputError, match="gives labels"):
        bundle.load_bundle(reviews).translator()
    with pytest.raises(InputError, match="models of an ensemble need the same tokenizer"):
        bundle.load_bundle(trained).translator([bundle.load_bundle(reviews)])


@pytest.mark.parametrize(
    ("arguments_of_command", "message"),
    [
        (["translate", "REVIEWS"], "gives labels"),
        (["classify", "TRANSLATOR"], "translates"),
        (["sample", "TRANSLATOR"], "translates"),
        (["sample", "LM", "--top-p", "3"], "top_p"),
        (["score", "LM", "--rerank"], "rerank"),
    ],
)
def test_a_command_for_another_task_is_an_error(
    arguments_of_command: list[str],
    message: str,
    trained: Path,
    reviews: Path,
    language_model: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    named = {"REVIEWS": str(reviews), "TRANSLATOR": str(trained), "LM": str(language_model)}
    assert main([named.get(word, word) for word in arguments_of_command]) == 2
    assert message in capsys.readouterr().err


def test_source_characters_and_target_words(tmp_path: Path) -> None:
    """Characters on the source side; on the target side each phone is one token."""
    pairs = [("집에", "t͡ɕ i p̚ e"), ("간다", "k a n d a"), ("나는", "n a n ɯ n")] * 20
    settings = [
        *QUICK,
        "tokenizer.model=char",
        "tokenizer.target_model=word",
        "tokenizer.shared=false",
        "tokenizer.jamo=true",
    ]
    settings += ["model.kind=rnn", "model.width=24", "model.embedding=16", "training.steps=8"]
    settings += ['data.metrics=["wer", "per"]']
    runs.train(run=tmp_path / "run", data=write_pairs(tmp_path / "g2p.tsv", pairs), settings=settings, quiet=True)
    loaded = bundle.load_bundle(tmp_path / "run")
    assert loaded.target_tokenizer.token_strings(loaded.target_tokenizer.encode_all(["t͡ɕ i p̚ e"])[0]) == [
        "▁t͡ɕ",
        "▁i",
        "▁p̚",
        "▁e",
    ]
    assert len(loaded.source_tokenizer.encode("집")) == 4  # ㅈ ㅣ ㅂ and the word mark
    assert loaded.metrics == ("wer", "per")


def test_a_header_is_dropped_and_recorded(tmp_path: Path) -> None:
    (tmp_path / "ratings.txt").write_text(
        "id\tdocument\tlabel\n" + "".join(f"{i}\t{text}\t{label}\n" for i, (text, label) in enumerate(reviews_of(60))),
        "utf-8",
    )
    settings = [*QUICK, "model.kind=transformer_classifier", "training.steps=3", "data.columns=[2, 3]"]
    settings += ["data.header=true"]
    runs.train(run=tmp_path / "run", data=tmp_path / "ratings.txt", settings=settings, quiet=True)
    entries = [json.loads(line) for line in (tmp_path / "run" / "ledger.jsonl").read_text("utf-8").splitlines()]
    assert entries[0]["reason"] == "header"
    assert bundle.load_bundle(tmp_path / "run").target_tokenizer.token_strings([0, 1]) == ["나쁘다", "좋다"]
