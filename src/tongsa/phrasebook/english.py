"""English inflection: verbs, nouns, articles, and the finite forms that agree with a subject."""

from enum import Enum

Tense = Enum("Tense", ["PRESENT", "PAST", "FUTURE"])

PAST = {
    "be": "was", "become": "became", "bring": "brought", "build": "built", "buy": "bought", "catch": "caught",
    "choose": "chose", "come": "came", "cut": "cut", "do": "did", "draw": "drew", "drink": "drank", "drive": "drove",
    "eat": "ate", "fall": "fell", "feed": "fed", "feel": "felt", "fight": "fought", "find": "found", "forget": "forgot",
    "get": "got", "give": "gave", "go": "went", "grow": "grew", "have": "had", "hear": "heard", "hide": "hid",
    "hurt": "hurt", "know": "knew", "learn": "learned", "leave": "left", "lend": "lent", "lie": "lay", "lose": "lost",
    "make": "made", "meet": "met", "pay": "paid", "read": "read", "ride": "rode", "run": "ran", "say": "said",
    "see": "saw", "sell": "sold", "send": "sent", "sing": "sang", "sit": "sat", "sleep": "slept", "spend": "spent",
    "stand": "stood", "swim": "swam", "take": "took", "teach": "taught", "tell": "told", "think": "thought",
    "throw": "threw", "understand": "understood", "wake": "woke", "wear": "wore", "write": "wrote",
}  # fmt: skip
PARTICIPLE = {
    "be": "been", "buy": "bought", "come": "come", "drink": "drunk", "drive": "driven", "eat": "eaten", "go": "been",
    "ride": "ridden", "see": "seen", "sing": "sung", "swim": "swum", "take": "taken", "wear": "worn",
    "write": "written",
}  # fmt: skip
DOUBLED = frozenset(("cut", "forget", "get", "hug", "run", "shop", "sit", "stop", "swim"))
PLURAL = {"child": "children", "fish": "fish", "knife": "knives", "man": "men", "mouse": "mice", "sheep": "sheep",
          "woman": "women", "tooth": "teeth", "foot": "feet"}  # fmt: skip
COMPARATIVE = {"good": "better", "bad": "worse", "far": "farther", "healthy": "healthier"}
MODALS = {"can": "could", "must": "had to", "should": "should"}
VOWELS = "aeiou"


def head_and_rest(verb: str) -> tuple[str, str]:
    head, _, rest = verb.partition(" ")
    return head, rest


def ends_in_consonant_y(word: str) -> bool:
    return word.endswith("y") and word[-2] not in VOWELS


def third(verb: str) -> str:
    """The third person singular: goes, studies, watches, has."""
    return "has" if verb == "have" else with_s(verb)


def plural(noun: str) -> str:
    return PLURAL.get(noun) or with_s(noun)


def with_s(word: str) -> str:
    if ends_in_consonant_y(word):
        return word[:-1] + "ies"
    if word.endswith(("s", "x", "z", "ch", "sh", "do", "go", "potato", "tomato")):
        return word + "es"
    return word + "s"


def past(verb: str) -> str:
    if verb in PAST:
        return PAST[verb]
    if ends_in_consonant_y(verb):
        return verb[:-1] + "ied"
    if verb.endswith("e"):
        return verb + "d"
    return (verb + verb[-1] if verb in DOUBLED else verb) + "ed"


def participle(verb: str) -> str:
    """What follows "have": eaten, been, visited."""
    return PARTICIPLE.get(verb) or past(verb)


def gerund(verb: str) -> str:
    if verb in ("lie", "die"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and verb != "be":
        return verb[:-1] + "ing"
    return (verb + verb[-1] if verb in DOUBLED else verb) + "ing"


def comparative(adjective: str) -> str:
    """taller, bigger, prettier, more expensive."""
    if adjective in COMPARATIVE:
        return COMPARATIVE[adjective]
    if ends_in_consonant_y(adjective) and len(adjective) < 7:
        return adjective[:-1] + "ier"
    if len(adjective) > 6 or adjective in ("famous", "boring", "useful", "honest", "bitter", "polite", "active"):
        return "more " + adjective
    if adjective.endswith("e"):
        return adjective + "r"
    return adjective + (adjective[-1] if adjective in ("big", "hot", "thin", "sad") else "") + "er"


def article(noun: str) -> str:
    """The noun phrase with a or an."""
    return ("an " if noun[0] in VOWELS and not noun.startswith("use") else "a ") + noun


def be(agreement: str, tense: Tense) -> str:
    """The finite form of be; agreement is first, third or plural."""
    if tense is Tense.FUTURE:
        return "will be"
    present = {"first": "am", "third": "is", "plural": "are"}
    return present[agreement] if tense is Tense.PRESENT else "were" if agreement == "plural" else "was"


def auxiliary(head: str, agreement: str, tense: Tense) -> tuple[str, str]:
    """The word that carries tense in questions and negation, and the form of the verb left behind."""
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
    if head in MODALS or head == "be" or tense is Tense.FUTURE:
        return spaced(*auxiliary(head, agreement, tense))
    if tense is Tense.PAST:
        return past(head)
    return third(head) if agreement == "third" else head


def negated(head: str, agreement: str, tense: Tense) -> str:
    carrier, left = auxiliary(head, agreement, tense)
    return spaced("cannot" if carrier == "can" else carrier + " not", left)


def spaced(*parts: str) -> str:
    """The parts that are there, one space between."""
    return " ".join(part for part in parts if part)


def owned(text: str, own: str) -> str:
    """The text with whose it is: my face, our faces."""
    if own in ("our", "their"):
        text = text.replace("{own} face", "{own} faces")
    return text.replace("{own}", own)


def capitalised(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
