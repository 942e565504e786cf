"""English forms that the phrasebook relies on."""

import pytest

from phrasebook.english import Tense, article, auxiliary, comparative, finite, gerund, negative, past, plural, third


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("go", ("goes", "went", "going")),
        ("study", ("studies", "studied", "studying")),
        ("watch", ("watches", "watched", "watching")),
        ("fish", ("fishes", "fished", "fishing")),
        ("play", ("plays", "played", "playing")),
        ("swim", ("swims", "swam", "swimming")),
        ("lie", ("lies", "lay", "lying")),
        ("have", ("has", "had", "having")),
        ("shop", ("shops", "shopped", "shopping")),
        ("hurry", ("hurries", "hurried", "hurrying")),
        ("bake", ("bakes", "baked", "baking")),
    ],
)
def test_verbs_inflect(verb: str, forms: tuple[str, str, str]) -> None:
    assert (third(verb), past(verb), gerund(verb)) == forms


@pytest.mark.parametrize(
    ("singular", "form"),
    [
        ("box", "boxes"),
        ("puppy", "puppies"),
        ("knife", "knives"),
        ("child", "children"),
        ("potato", "potatoes"),
        ("toy", "toys"),
    ],
)
def test_nouns_have_plurals(singular: str, form: str) -> None:
    assert plural(singular) == form


def test_articles_follow_the_sound() -> None:
    assert [article(noun) for noun in ("apple", "umbrella", "useful map", "book")] == [
        "an apple",
        "an umbrella",
        "a useful map",
        "a book",
    ]


def test_comparatives_are_short_or_long() -> None:
    words = ("tall", "big", "easy", "expensive", "polite", "brave", "funny", "warm")
    assert " ".join(map(comparative, words)) == "taller bigger easier more expensive more polite braver funnier warmer"


def test_verbs_agree_and_take_do() -> None:
    assert finite("eat", "third", Tense.PRESENT) == "eats"
    assert finite("be", "first", Tense.PRESENT) == "am"
    assert negative("eat", "third", Tense.PRESENT) == "does not eat"
    assert negative("can", "first", Tense.PRESENT) == "cannot"
    assert negative("can", "first", Tense.PAST) == "could not"
    assert finite("eat", "plural", Tense.FUTURE) == "will eat"
    assert finite("perfect", "third", Tense.PRESENT) == "has"
    assert auxiliary("perfect", "plural", Tense.PRESENT) == ("have", "")
