"""Each corpus check is ok on a good corpus and reports one that is broken on purpose."""

import json
from pathlib import Path

import pytest

from tongsa.checks import corpus as checks
from tongsa.checks import scripts
from tongsa.checks.finding import Finding, worst_level
from tongsa.data.corpus import read_pairs
from tongsa.data.ledger import Ledger, Pair
from tongsa.data.unicode_scripts import script_counts
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

TABLE = """
der the 그, die this 이, das that 저, ein a 한, eine an 어떤, hund dog 개가, katze cat 고양이가,
mann man 남자가, frau woman 여자가,
läuft runs 달린다, schläft sleeps 잔다, steht stands 서있다, auf on 위에, unter under 아래, neben near 옆에,
wiese meadow 초원, brücke bridge 다리, haus house 집, straße road 길
"""
GERMAN, ENGLISH, KOREAN = ([row.split()[i] for row in TABLE.split(",")] for i in range(3))


def corpus(left: list[str], right: list[str], count: int = 400, file: str = "a.tsv") -> list[Pair]:
    """Return sentences of six words with their translation, word by word."""
    chosen = [[(7 * i + column * (3 + i // 19)) % len(left) for column in range(6)] for i in range(count)]
    return [
        Pair(" ".join(left[word] for word in row), " ".join(right[word] for word in row), file, i + 1)
        for i, row in enumerate(chosen)
    ]


def swap_sides(pair: Pair) -> Pair:
    return pair._replace(source=pair.target, target=pair.source)


def test_worst_level() -> None:
    finding = [Finding(name="a", level="remark", seen=""), Finding(name="b", level="fault", seen="")]
    assert worst_level(finding) == "fault"
    assert worst_level(finding[:1]) == "remark"
    assert worst_level([]) == "ok"


def test_leakage_ignores_case_and_names_both_lines() -> None:
    train, held_out = [Pair("Ein Hund", "A dog", "t.tsv", 7)], [Pair("ein hund", "a DOG", "d.tsv", 3)]
    held_out += [Pair(f"satz {i}", f"sentence {i}", "d.tsv", 10 + i) for i in range(3)]
    finding = checks.check_leakage(train, held_out, "dev")
    assert finding.level == "fault"
    assert finding.numbers["same"] == 1
    assert "d.tsv:3" in finding.examples[0]
    assert "t.tsv:7" in finding.examples[0]
    assert checks.check_leakage(train, held_out[1:], "dev").level == "ok"


def test_the_level_of_leakage_depends_on_its_share() -> None:
    held_out = corpus(GERMAN, ENGLISH, 1000, "dev.tsv")
    held_out = [pair._replace(source=f"{pair.source} {pair.line}") for pair in held_out]
    assert checks.check_leakage(held_out[:1], held_out, "dev").level == "remark"
    assert checks.check_leakage(held_out[:20], held_out, "dev").level == "warning"


def test_leakage_from_dev_into_test() -> None:
    dev, test = corpus(GERMAN, ENGLISH, 20, "dev.tsv"), [Pair("ein satz", "a sentence", "test.tsv", 1)]
    assert checks.check_leakage(dev, test, "test", "dev").level == "ok"
    finding = checks.check_leakage(dev, [*test, dev[4]._replace(file="test.tsv", line=2)], "test", "dev")
    assert finding.name == "leakage from dev into test"
    assert finding.level == "fault"
    assert "are also in dev" in finding.seen
    assert "chosen" in finding.means
    assert "test.tsv:2" in finding.examples[0]
    assert "dev.tsv:5" in finding.examples[0]


def test_the_same_source_with_another_target_is_a_remark() -> None:
    train = [Pair("read", "R EH D", "t.tsv", 1), *(Pair(f"word{i}", "W ER D", "t.tsv", 2 + i) for i in range(9))]
    held_out = [Pair("read", "R IY D", "d.tsv", 1), *(Pair(f"other{i}", "AH DH ER", "d.tsv", 2 + i) for i in range(9))]
    finding = checks.check_leakage(train, held_out, "dev")
    assert finding.level == "remark"
    assert (finding.numbers["same"], finding.numbers["same_source"]) == (0, 1)


def test_duplicates_are_counted_without_a_source_too() -> None:
    text = [Pair("", f"문장 {i}", "t.txt", i + 1) for i in range(60)]
    assert checks.check_duplicates(text).level == "ok"
    finding = checks.check_duplicates([*text, *text[:40]])
    assert finding.level == "warning"
    assert finding.numbers["repeated"] == 40
    assert finding.examples[0].startswith("2 × 문장")


@pytest.mark.parametrize(("copied", "level"), [(0, "ok"), (12, "remark"), (80, "warning"), (400, "fault")])
def test_copies_are_counted(copied: int, level: str) -> None:
    pairs = [
        pair._replace(target=pair.source) if i < copied else pair for i, pair in enumerate(corpus(GERMAN, ENGLISH))
    ]
    assert checks.check_copies(pairs).level == level


def test_dropped_lines_are_listed_with_file_line_and_reason(tmp_path: Path) -> None:
    file, ledger_path = tmp_path / "a.tsv", tmp_path / "ledger.jsonl"
    file.write_text("a\t가\nno tab\n\nb\t\n" + "c\t다\n" * 4, "utf-8")
    with Ledger(ledger_path) as ledger:
        list(read_pairs([file], ledger))
    finding = checks.check_dropped(ledger_path)
    assert finding.level == "warning"
    assert finding.numbers == {"lines": 8, "dropped": 3}
    assert any(f"{file}:2: no-tab" in example for example in finding.examples)
    file.write_text("a\t가\n" * 8, "utf-8")
    with Ledger(ledger_path) as ledger:
        list(read_pairs([file], ledger))
    assert checks.check_dropped(ledger_path).level == "ok"


def test_unknown_tokens_and_byte_tokens_are_counted() -> None:
    words = train_tokenizer(["the dog sleeps"] * 9, TokenizerConfig(model="word", vocab_size=20))
    pairs = [Pair("the dog sleeps", "x", "a", 1), Pair("the 고양이 sleeps", "x", "a", 2)]
    texts = [pair.source for pair in pairs]
    finding = checks.check_unknown_tokens(pairs, texts, words, "dev source")
    assert finding.level == "warning"
    assert finding.numbers["unknown"] == pytest.approx(1 / 6)
    assert "a:2" in finding.examples[0]
    assert checks.check_unknown_tokens(pairs[:1], texts[:1], words, "dev source").level == "ok"
    tokenizer = train_tokenizer(["the dog sleeps"] * 9, TokenizerConfig(model="bpe", vocab_size=300))
    in_bytes = checks.check_unknown_tokens(pairs, texts, tokenizer, "dev source")
    assert in_bytes.numbers["unknown"] == 0
    assert in_bytes.numbers["bytes"] > 0.3
    assert in_bytes.level == "warning"


def test_unbalanced_rare_and_contradicting_labels() -> None:
    even = [Pair(f"text {i}", "pos" if i % 2 else "neg", "a.tsv", i + 1) for i in range(100)]
    assert checks.check_label_balance(even).level == "ok"
    assert (
        checks.check_label_balance([pair._replace(target="pos") for pair in even[:97]] + even[98:]).level == "warning"
    )
    assert checks.check_label_balance([*even, even[0]._replace(target="무엇")]).level == "remark"
    assert checks.check_contradictions(even).level == "ok"
    conflicting = [*even, *(pair._replace(target="pos") for pair in even[:20])]
    finding = checks.check_contradictions(conflicting)
    assert finding.level == "warning"
    assert finding.numbers["contradictions"] == 10


def test_labels_in_the_text_and_unseen_labels() -> None:
    plain = [Pair(f"글 {i}", "긍정" if i % 2 else "부정", "a.tsv", i + 1) for i in range(40)]
    assert checks.check_label_in_text(plain).level == "ok"
    assert (
        checks.check_label_in_text([pair._replace(source=f"[{pair.target}] 글") for pair in plain]).level == "warning"
    )
    assert checks.check_label_in_text([pair._replace(source="긍정문과 부정문") for pair in plain]).level == "ok"
    assert checks.check_unseen_labels(["긍정", "부정"], plain, "test").level == "ok"
    unseen = checks.check_unseen_labels(["긍정", "부정"], [*plain, Pair("x", "중립", "b.tsv", 5)], "test")
    assert unseen.level == "fault"
    assert "b.tsv:5" in unseen.examples[0]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Ein", "LATIN"),
        ("가나", "HANGUL"),
        ("жук", "CYRILLIC"),
        ("猫と", "HAN/KANA"),
        ("ηλ", "GREEK"),
        ("ｆｕ", "LATIN"),
    ],
)
def test_script_counts(text: str, name: str) -> None:
    assert script_counts(f"{text} 12 – 🙂 ²")[name] == len(text)
    assert script_counts(f"{text} 12 – 🙂 ²").total() == len(text)


def test_lines_in_another_script_are_found_but_not_names() -> None:
    pairs = corpus(ENGLISH, KOREAN)
    targets = [pair.target for pair in pairs]
    assert scripts.check_script(pairs, targets, "target").level == "ok"
    named = [f"Python {text}" for text in targets]
    assert scripts.check_script(pairs, named, "target").level == "ok"
    wrong = [*targets[:-1], "left in English"]
    finding = scripts.check_script(pairs, wrong, "target")
    assert finding.level == "remark"
    assert "a.tsv:400: left in English" in finding.examples[0]
    assert scripts.check_script(pairs, wrong[:300] + [pair.source for pair in pairs[300:]], "target").level == "warning"


def test_mixed_lines_are_found_but_not_names_and_manuals() -> None:
    pairs = corpus(ENGLISH, KOREAN)
    targets = [pair.target for pair in pairs]
    assert scripts.check_mixed_lines(pairs, targets, "target").level == "ok"
    assert scripts.check_mixed_lines(pairs, ["PC방 간다", *targets[1:]], "target").numbers["mixed"] == 0, "a name"
    half = [f"{pair.target[:8]} and then the dog sleeps" if i < 8 else pair.target for i, pair in enumerate(pairs)]
    finding = scripts.check_mixed_lines(pairs, half, "target")
    assert finding.level == "warning"
    assert finding.numbers["mixed"] == 8
    assert "2.0 %" in finding.seen
    assert f"a.tsv:1: {half[0]}" in finding.examples
    assert len(finding.examples) == 5
    assert scripts.check_mixed_lines(pairs, [half[0], *targets[1:]], "target").level == "remark"
    manual = [f"PyArg_ParseTuple() 는 {text}" if i % 3 else text for i, text in enumerate(targets)]
    finding = scripts.check_mixed_lines(pairs, manual, "target")
    assert finding.level == "ok"
    assert finding.numbers["mixed"] > 200
    assert "convention" in finding.seen


def test_lines_entirely_in_another_script_are_not_mixed() -> None:
    pairs = corpus(ENGLISH, KOREAN)
    wrong = ["all of it was left in English", *(pair.target for pair in pairs[1:])]
    assert scripts.check_script(pairs, wrong, "target").numbers["wrong"] == 1
    assert scripts.check_mixed_lines(pairs, wrong, "target").numbers["mixed"] == 0


def test_a_cyrillic_letter_in_a_latin_word_is_found_but_not_korean_particles() -> None:
    pairs = [Pair(f"dog {i}", "Python은 좋다", "a.tsv", i + 1) for i in range(300)]
    assert scripts.check_mixed_words(pairs).level == "ok"
    finding = scripts.check_mixed_words([*pairs, Pair("a d\u043eg", "개", "a.tsv", 301)])
    assert finding.level == "remark"
    assert "CYRILLIC, LATIN" in finding.examples[0]
    phones = [pair._replace(target="tθ a") for pair in pairs]
    assert scripts.check_mixed_words(phones).level == "ok"
    assert "convention" in scripts.check_mixed_words(phones).seen


@pytest.mark.parametrize("sides", [(GERMAN, ENGLISH), (ENGLISH, KOREAN)])
def test_exchanged_and_untranslated_lines_are_found_in_one_script_too(sides: tuple[list[str], list[str]]) -> None:
    pairs = corpus(*sides)
    assert scripts.check_wrong_side(pairs).level == "ok"
    exchanged = scripts.check_wrong_side([swap_sides(pair) if i % 40 == 0 else pair for i, pair in enumerate(pairs)])
    assert exchanged.level == "warning"
    assert exchanged.numbers["swapped"] == 10
    copied = [pair._replace(target=pair.source) if i % 40 == 0 else pair for i, pair in enumerate(pairs)]
    assert scripts.check_wrong_side(copied).numbers["one_language"] == 10
    swapped_often = scripts.check_wrong_side([swap_sides(pair) if i % 5 == 0 else pair for i, pair in enumerate(pairs)])
    assert swapped_often.level == "fault"


def test_a_dialogue_in_one_language_has_no_wrong_side() -> None:
    """Questions and answers differ in style: an answer that reads like a question is not in the wrong language."""
    pairs = [
        pair._replace(target=pair.source) if i % 40 == 0 else pair for i, pair in enumerate(corpus(GERMAN, ENGLISH))
    ]
    assert scripts.check_wrong_side(pairs, ("de", "en")).level == "warning"
    finding = scripts.check_wrong_side(pairs, ("ko", "ko"))
    assert (finding.level, finding.seen) == ("ok", "both sides are in one language (ko)")


def test_similar_sides_are_not_checked_for_the_wrong_side() -> None:
    pairs = corpus(ENGLISH, ENGLISH[::-1])
    assert scripts.check_wrong_side(pairs).level == "ok"
    assert "too similar" in scripts.check_wrong_side(pairs).seen


def test_a_finding_as_text_and_as_json() -> None:
    finding = checks.check_copies([Pair("같다", "같다", "a.tsv", 1)])
    assert finding.text.startswith("fault    copies: ")
    assert finding.remedy in finding.text
    assert json.loads(json.dumps(finding.as_json(), ensure_ascii=False))["examples"] == ["a.tsv:1: 같다"]
    fine = checks.check_copies(corpus(GERMAN, ENGLISH))
    assert "\n" not in fine.text
