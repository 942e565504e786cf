"""Every check of a corpus is quiet on a good one and speaks up on one broken on purpose."""

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
GERMAN, ENGLISH, KOREAN = ([row.split()[at] for row in TABLE.split(",")] for at in range(3))


def corpus(left: list[str], right: list[str], count: int = 400, file: str = "a.tsv") -> list[Pair]:
    """Sentences of six words and their translation, word by word."""
    chosen = [[(7 * at + place * (3 + at // 19)) % len(left) for place in range(6)] for at in range(count)]
    return [
        Pair(" ".join(left[word] for word in row), " ".join(right[word] for word in row), file, at + 1)
        for at, row in enumerate(chosen)
    ]


def turned(pair: Pair) -> Pair:
    return pair._replace(source=pair.target, target=pair.source)


def test_the_worst_finding_counts() -> None:
    found = [Finding(name="a", level="remark", seen=""), Finding(name="b", level="fault", seen="")]
    assert worst_level(found) == "fault"
    assert worst_level(found[:1]) == "remark"
    assert worst_level([]) == "ok"


def test_a_leak_is_found_whatever_its_case_and_says_where_both_lines_stand() -> None:
    train, held = [Pair("Ein Hund", "A dog", "t.tsv", 7)], [Pair("ein hund", "a DOG", "d.tsv", 3)]
    held += [Pair(f"satz {at}", f"sentence {at}", "d.tsv", 10 + at) for at in range(3)]
    found = checks.check_leakage(train, held, "dev")
    assert found.level == "fault"
    assert found.numbers["same"] == 1
    assert "d.tsv:3" in found.examples[0]
    assert "t.tsv:7" in found.examples[0]
    assert checks.check_leakage(train, held[1:], "dev").level == "ok"


def test_one_leaked_line_in_a_thousand_is_a_remark_and_one_in_fifty_a_warning() -> None:
    held = corpus(GERMAN, ENGLISH, 1000, "dev.tsv")
    held = [pair._replace(source=f"{pair.source} {pair.line}") for pair in held]
    assert checks.check_leakage(held[:1], held, "dev").level == "remark"
    assert checks.check_leakage(held[:20], held, "dev").level == "warning"


def test_a_leak_from_dev_says_so_and_that_the_model_was_chosen_by_it() -> None:
    dev, test = corpus(GERMAN, ENGLISH, 20, "dev.tsv"), [Pair("ein satz", "a sentence", "test.tsv", 1)]
    assert checks.check_leakage(dev, test, "test", "dev").level == "ok"
    found = checks.check_leakage(dev, [*test, dev[4]._replace(file="test.tsv", line=2)], "test", "dev")
    assert found.name == "leakage from dev into test"
    assert found.level == "fault"
    assert "stand in dev as well" in found.seen
    assert "chosen" in found.means
    assert "test.tsv:2" in found.examples[0]
    assert "dev.tsv:5" in found.examples[0]


def test_another_pronunciation_of_a_word_is_no_leaked_answer() -> None:
    train = [Pair("read", "R EH D", "t.tsv", 1), *(Pair(f"word{at}", "W ER D", "t.tsv", 2 + at) for at in range(9))]
    held = [Pair("read", "R IY D", "d.tsv", 1), *(Pair(f"other{at}", "AH DH ER", "d.tsv", 2 + at) for at in range(9))]
    found = checks.check_leakage(train, held, "dev")
    assert found.level == "remark"
    assert (found.numbers["same"], found.numbers["same_source"]) == (0, 1)


def test_repeated_lines_are_counted_and_texts_without_a_source_too() -> None:
    text = [Pair("", f"문장 {at}", "t.txt", at + 1) for at in range(60)]
    assert checks.check_duplicates(text).level == "ok"
    found = checks.check_duplicates([*text, *text[:40]])
    assert found.level == "warning"
    assert found.numbers["repeated"] == 40
    assert found.examples[0].startswith("2 × 문장")


@pytest.mark.parametrize(("copied", "level"), [(0, "ok"), (12, "remark"), (80, "warning"), (400, "fault")])
def test_copied_lines_are_found(copied: int, level: str) -> None:
    pairs = [
        pair._replace(target=pair.source) if at < copied else pair for at, pair in enumerate(corpus(GERMAN, ENGLISH))
    ]
    assert checks.check_copies(pairs).level == level


def test_lost_lines_are_told_with_file_line_and_reason(tmp_path: Path) -> None:
    file, book = tmp_path / "a.tsv", tmp_path / "ledger.jsonl"
    file.write_text("a\t가\nno tab\n\nb\t\n" + "c\t다\n" * 4, "utf-8")
    with Ledger(book) as ledger:
        list(read_pairs([file], ledger))
    found = checks.check_dropped(book)
    assert found.level == "warning"
    assert found.numbers == {"lines": 8, "dropped": 3}
    assert any(f"{file}:2: no-tab" in example for example in found.examples)
    file.write_text("a\t가\n" * 8, "utf-8")
    with Ledger(book) as ledger:
        list(read_pairs([file], ledger))
    assert checks.check_dropped(book).level == "ok"


def test_unknown_pieces_are_counted_whether_lost_or_spelt_in_bytes() -> None:
    words = train_tokenizer(["the dog sleeps"] * 9, TokenizerConfig(model="word", vocab_size=20))
    pairs = [Pair("the dog sleeps", "x", "a", 1), Pair("the 고양이 sleeps", "x", "a", 2)]
    texts = [pair.source for pair in pairs]
    found = checks.check_unknown_tokens(pairs, texts, words, "dev source")
    assert found.level == "warning"
    assert found.numbers["unknown"] == pytest.approx(1 / 6)
    assert "a:2" in found.examples[0]
    assert checks.check_unknown_tokens(pairs[:1], texts[:1], words, "dev source").level == "ok"
    pieces = train_tokenizer(["the dog sleeps"] * 9, TokenizerConfig(model="bpe", vocab_size=300))
    spelt = checks.check_unknown_tokens(pairs, texts, pieces, "dev source")
    assert spelt.numbers["unknown"] == 0
    assert spelt.numbers["bytes"] > 0.3
    assert spelt.level == "warning"


def test_lopsided_rare_and_contradicting_labels() -> None:
    even = [Pair(f"text {at}", "pos" if at % 2 else "neg", "a.tsv", at + 1) for at in range(100)]
    assert checks.check_label_balance(even).level == "ok"
    assert (
        checks.check_label_balance([pair._replace(target="pos") for pair in even[:97]] + even[98:]).level == "warning"
    )
    assert checks.check_label_balance([*even, even[0]._replace(target="무엇")]).level == "remark"
    assert checks.check_contradictions(even).level == "ok"
    twice = [*even, *(pair._replace(target="pos") for pair in even[:20])]
    found = checks.check_contradictions(twice)
    assert found.level == "warning"
    assert found.numbers["contradictions"] == 10


def test_labels_that_stand_in_the_text_and_labels_nobody_taught() -> None:
    plain = [Pair(f"글 {at}", "긍정" if at % 2 else "부정", "a.tsv", at + 1) for at in range(40)]
    assert checks.check_label_in_text(plain).level == "ok"
    assert (
        checks.check_label_in_text([pair._replace(source=f"[{pair.target}] 글") for pair in plain]).level == "warning"
    )
    assert checks.check_label_in_text([pair._replace(source="긍정문과 부정문") for pair in plain]).level == "ok"
    assert checks.check_unseen_labels(["긍정", "부정"], plain, "test").level == "ok"
    strange = checks.check_unseen_labels(["긍정", "부정"], [*plain, Pair("x", "중립", "b.tsv", 5)], "test")
    assert strange.level == "fault"
    assert "b.tsv:5" in strange.examples[0]


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
def test_letters_have_a_script(text: str, name: str) -> None:
    assert script_counts(f"{text} 12 – 🙂 ²")[name] == len(text)
    assert script_counts(f"{text} 12 – 🙂 ²").total() == len(text)


def test_lines_in_another_script_are_found_but_names_inside_a_line_are_not() -> None:
    pairs = corpus(ENGLISH, KOREAN)
    targets = [pair.target for pair in pairs]
    assert scripts.check_script(pairs, targets, "target").level == "ok"
    named = [f"Python {text}" for text in targets]
    assert scripts.check_script(pairs, named, "target").level == "ok"
    wrong = [*targets[:-1], "left in English"]
    found = scripts.check_script(pairs, wrong, "target")
    assert found.level == "remark"
    assert "a.tsv:400: left in English" in found.examples[0]
    assert scripts.check_script(pairs, wrong[:300] + [pair.source for pair in pairs[300:]], "target").level == "warning"


def test_lines_half_in_another_script_are_found_but_names_and_manuals_are_not() -> None:
    pairs = corpus(ENGLISH, KOREAN)
    targets = [pair.target for pair in pairs]
    assert scripts.check_mixed_lines(pairs, targets, "target").level == "ok"
    assert scripts.check_mixed_lines(pairs, ["PC방 간다", *targets[1:]], "target").numbers["mixed"] == 0, "a name"
    half = [f"{pair.target[:8]} and then the dog sleeps" if at < 8 else pair.target for at, pair in enumerate(pairs)]
    found = scripts.check_mixed_lines(pairs, half, "target")
    assert found.level == "warning"
    assert found.numbers["mixed"] == 8
    assert "2.0 %" in found.seen
    assert f"a.tsv:1: {half[0]}" in found.examples
    assert len(found.examples) == 5
    assert scripts.check_mixed_lines(pairs, [half[0], *targets[1:]], "target").level == "remark"
    manual = [f"PyArg_ParseTuple() 는 {text}" if at % 3 else text for at, text in enumerate(targets)]
    found = scripts.check_mixed_lines(pairs, manual, "target")
    assert found.level == "ok"
    assert found.numbers["mixed"] > 200
    assert "way of writing" in found.seen


def test_lines_wholly_in_another_script_are_not_counted_as_half() -> None:
    pairs = corpus(ENGLISH, KOREAN)
    wrong = ["all of it was left in English", *(pair.target for pair in pairs[1:])]
    assert scripts.check_script(pairs, wrong, "target").numbers["wrong"] == 1
    assert scripts.check_mixed_lines(pairs, wrong, "target").numbers["mixed"] == 0


def test_a_cyrillic_letter_in_a_latin_word_is_found_and_korean_particles_are_not() -> None:
    pairs = [Pair(f"dog {at}", "Python은 좋다", "a.tsv", at + 1) for at in range(300)]
    assert scripts.check_mixed_words(pairs).level == "ok"
    found = scripts.check_mixed_words([*pairs, Pair("a d\u043eg", "개", "a.tsv", 301)])
    assert found.level == "remark"
    assert "CYRILLIC, LATIN" in found.examples[0]
    phones = [pair._replace(target="tθ a") for pair in pairs]
    assert scripts.check_mixed_words(phones).level == "ok"
    assert "way of writing" in scripts.check_mixed_words(phones).seen


def test_text_that_went_through_a_wrong_decoder_is_found() -> None:
    pairs = [Pair("Straße", "길", "a.tsv", at + 1) for at in range(100)]
    assert scripts.check_mojibake(pairs).level == "ok"
    twice = "Mädchen".encode().decode("latin-1")
    assert scripts.check_mojibake([*pairs, Pair(twice, "소녀", "a.tsv", 101)]).level == "warning"
    assert scripts.check_mojibake([*pairs, Pair("M\ufffddchen", "소녀", "a.tsv", 101)]).level == "warning"


@pytest.mark.parametrize("sides", [(GERMAN, ENGLISH), (ENGLISH, KOREAN)])
def test_exchanged_and_untranslated_lines_are_found_even_in_one_script(sides: tuple[list[str], list[str]]) -> None:
    pairs = corpus(*sides)
    assert scripts.check_wrong_side(pairs).level == "ok"
    exchanged = scripts.check_wrong_side([turned(pair) if at % 40 == 0 else pair for at, pair in enumerate(pairs)])
    assert exchanged.level == "warning"
    assert exchanged.numbers["swapped"] == 10
    copied = [pair._replace(target=pair.source) if at % 40 == 0 else pair for at, pair in enumerate(pairs)]
    assert scripts.check_wrong_side(copied).numbers["one_language"] == 10
    many = scripts.check_wrong_side([turned(pair) if at % 5 == 0 else pair for at, pair in enumerate(pairs)])
    assert many.level == "fault"


def test_two_sides_in_one_language_have_no_wrong_side() -> None:
    pairs = corpus(ENGLISH, ENGLISH[::-1])
    assert scripts.check_wrong_side(pairs).level == "ok"
    assert "too alike" in scripts.check_wrong_side(pairs).seen


def test_a_finding_tells_people_and_programs() -> None:
    found = checks.check_copies([Pair("같다", "같다", "a.tsv", 1)])
    assert found.text.startswith("fault    copies: ")
    assert found.remedy in found.text
    assert json.loads(json.dumps(found.as_json(), ensure_ascii=False))["examples"] == ["a.tsv:1: 같다"]
    fine = checks.check_copies(corpus(GERMAN, ENGLISH))
    assert "\n" not in fine.text
