"""Requests of /v1. The OpenAPI document is made from these types."""

from typing import Annotated, Self

from pydantic import Field, ValidationInfo, model_validator

from tongsa.server.api.validation import (
    TOO_LONG,
    ListLimit,
    NumberLimit,
    RequestModel,
    TextLimit,
    TextsLimit,
    validation_error,
)

Texts = Annotated[list[str], TextsLimit("texts")]
Sentence = Annotated[str, TextLimit("sentence_characters")]
SentenceOrEmpty = Annotated[str, TextLimit("sentence_characters", "visible or empty")]
Prefix = Annotated[str, TextLimit("sentence_characters", "nothing")]
TermText = Annotated[str, TextLimit("term_characters")]
Beam = Annotated[int, NumberLimit("beam")]


class NamedModelRequest(RequestModel):
    model: str | None = None
    """Name of a model in /v1/models; by default the first one for the task."""


class ModelRequest(NamedModelRequest):
    """A model by its name or its languages."""

    source_language: str | None = None
    """Language of the text, such as en."""
    target_language: str | None = None
    """Language of the translation, such as ko."""

    @property
    def languages(self) -> tuple[str | None, str | None]:
        return self.source_language, self.target_language


class GlossaryTerm(RequestModel):
    source: TermText
    target: TermText
    """The translation to use."""


Glossary = Annotated[list[GlossaryTerm], ListLimit("glossary_terms")]


class TranslateRequest(ModelRequest):
    text: Texts
    """One text or several, of any number of sentences each."""
    nbest: Annotated[int, NumberLimit("nbest")] = 1
    """Number of translations of each sentence."""
    beam: Beam | None = None
    """Beam width; by default the model's."""
    alignments: bool = False
    """Return which source word each target word comes from."""
    word_probabilities: bool = False
    """Return the probability of each word."""
    token_probabilities: bool = False
    """Return the tokens of each translation, </s> last, with their probabilities. Characters then count nbest times."""
    glossary: Glossary = Field(default_factory=list)
    """Terms that must be translated in a given way."""
    prefix: Prefix = ""
    """First words of the translation; for one text of one sentence."""
    control_tag: str = ""
    """Style of the translation: one of the model's control tags, put before each sentence."""
    stream: bool = False
    """Answer with one line per sentence, each sent when it is ready."""

    @property
    def has_details(self) -> bool:
        """The response has more than a few fields for each sentence."""
        return self.nbest > 1 or self.alignments or self.word_probabilities or self.token_probabilities

    @model_validator(mode="after")
    def check_nbest(self, info: ValidationInfo) -> Self:
        if self.beam is not None and self.nbest > self.beam:
            raise validation_error(f"nbest: {self.nbest} is more than the beam {self.beam}. Send a larger beam.")
        characters = self.nbest * sum(map(len, self.text))
        # an engine without token probabilities scores each translation again, and the response grows
        if self.token_probabilities and info.context and characters > info.context.characters:
            message = (
                f"token_probabilities: {characters:,} characters, counted once for each of {self.nbest} translations, "
                f"but at most {info.context.characters:,} in one request. Send a smaller nbest or less text."
            )
            raise validation_error(message, TOO_LONG)
        return self


class AlternativesRequest(ModelRequest):
    text: Sentence
    """One sentence."""
    prefix: Prefix = ""
    """Beginning of the translation to keep."""
    glossary: Glossary = Field(default_factory=list)
    """Terms that must be translated in a given way, after the prefix."""
    count: Annotated[int, NumberLimit("alternatives")] = 5
    """Number of continuations."""


class ScoreRequest(NamedModelRequest):
    source: SentenceOrEmpty
    """Source text; empty for a language model."""
    target: Sentence
    """Text or label to score."""


class ContinueRequest(NamedModelRequest):
    text: Annotated[str, TextLimit("sentence_characters", "nothing")]
    """Beginning of a text."""
    max_tokens: Annotated[int, NumberLimit("continuation_tokens", minimum=0)] = 40
    """Longest continuation; 0 returns the next tokens only."""
    temperature: Annotated[float, Field(gt=0, le=10)] = 1.0
    """Below 1 likely tokens become likelier, above 1 unlikely ones do."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Draw only from the likeliest tokens with this total probability."""
    seed: int = 1
    """The same request with the same seed gives the same text."""


class CorrectionRequest(NamedModelRequest):
    source: Sentence
    target: Sentence
    """The translation as it should be."""


class AttentionRequest(NamedModelRequest):
    text: Sentence
    """One sentence."""
    target: Sentence | None = None
    """Translation whose attention is shown; by default the model's own."""


class SearchTreeRequest(ModelRequest):
    text: Sentence
    """One sentence."""
    beam: Beam | None = None
    """Beam width; by default the model's."""


class ClassifyRequest(NamedModelRequest):
    text: Texts
    """One text or several."""
