"""English inflection: verbs, nouns, articles, and the finite forms that agree with a subject."""

from enum import Enum

from phrasebook.tables import read_toml

Tense = Enum("Tense", ["PRESENT", "PAST", "FUTURE"])

IRREGULAR = read_toml("english.toml")
PAST, PARTICIPLE, PLURAL, COMPARATIVE = (IRREGULAR[form] for form in ("past", "participle", "plural", "comparative"))
DOUBLED = frozenset(IRREGULAR["doubled"]["verbs"])
MODALS = {"may": "might", "can": "could", "must": "had to", "should": "should"}
VOWELS = "aeiou"


def head_and_rest(verb: str) -> tuple[str, str]:
    head, _, rest = verb.partition(" ")
    return head, rest


def ends_in_consonant_y(word: str) -> bool:
    return word.endswith("y") and word[-2] not in VOWELS


def third(verb: str) -> str:
    """Return the third person singular: goes, studies, watches, has."""
    return "has" if verb == "have" else with_s(verb)


def plural(noun: str) -> str:
    return str(PLURAL.get(noun, "")) or with_s(noun)


def with_s(word: str) -> str:
    if ends_in_consonant_y(word):
        return word[:-1] + "ies"
    if word.endswith(("s", "x", "z", "ch", "sh", "do", "go", "potato", "tomato")):
        return word + "es"
    return word + "s"


def past(verb: str) -> str:
    if verb in PAST:
        return str(PAST[verb])
    if ends_in_consonant_y(verb):
        return verb[:-1] + "ied"
    if verb.endswith("e"):
        return verb + "d"
    return (verb + verb[-1] if verb in DOUBLED else verb) + "ed"


def participle(verb: str) -> str:
    """Past participle, as after "have": eaten, been, visited."""
    return str(PARTICIPLE.get(verb, "")) or past(verb)


def gerund(verb: str) -> str:
    if verb in ("lie", "die"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and verb != "be":
        return verb[:-1] + "ing"
    return (verb + verb[-1] if verb in DOUBLED else verb) + "ing"


def comparative(adjective: str) -> str:
    """Comparative: taller, bigger, prettier, more expensive."""
    if adjective in COMPARATIVE:
        return str(COMPARATIVE[adjective])
    if ends_in_consonant_y(adjective) and len(adjective) < 7:
        return adjective[:-1] + "ier"
    if len(adjective) > 6 or adjective in ("famous", "boring", "useful", "honest", "bitter", "polite", "active"):
        return "more " + adjective
    if adjective.endswith("e"):
        return adjective + "r"
    return adjective + (adjective[-1] if adjective in ("big", "hot", "thin", "sad") else "") + "er"


def article(noun: str) -> str:
    """Return the noun phrase with a or an."""
    return ("an " if noun[0] in VOWELS and not noun.startswith("use") else "a ") + noun


def be(agreement: str, tense: Tense) -> str:
    """Finite form of be; agreement is first, third or plural."""
    if tense is Tense.FUTURE:
        return "will be"
    present = {"first": "am", "third": "is", "plural": "are"}
    return present[agreement] if tense is Tense.PRESENT else "were" if agreement == "plural" else "was"


def auxiliary(head: str, agreement: str, tense: Tense) -> tuple[str, str]:
    """Return the word that carries tense in questions and negation, and the verb form left behind."""
    if head == "perfect":
        return ("has" if agreement == "third" else "have"), ""
    if tense is Tense.FUTURE:
        return "will", head
    if head == "be":
        return be(agreement, tense), ""
    if head in MODALS:
        return (MODALS[head] if tense is Tense.PAST else head), ""
    if tense is Tense.PAST:
        return "did", head
    return ("does" if agreement == "third" else "do"), head


def finite(head: str, agreement: str, tense: Tense) -> str:
    if head in (*MODALS, "be", "perfect") or tense is Tense.FUTURE:
        return join_words(*auxiliary(head, agreement, tense))
    if tense is Tense.PAST:
        return past(head)
    return third(head) if agreement == "third" else head


def negative(head: str, agreement: str, tense: Tense) -> str:
    carrier, left = auxiliary(head, agreement, tense)
    return join_words("cannot" if carrier == "can" else carrier + " not", left)


def join_words(*parts: str) -> str:
    """Join the parts that are not empty by single spaces."""
    return " ".join(filter(None, parts))


def fill_possessive(text: str, possessive: str) -> str:
    """Replace {their} by the possessive: my face, our faces."""
    if possessive in ("our", "their"):
        text = text.replace("{their} face", "{their} faces")
    return text.replace("{their}", possessive)


def capitalize(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
