"""TextGenerator: sampling and scoring text with a language model, and its use in translation (shallow fusion)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from tongsa.batch import pad
from tongsa.data.normalize import normalize
from tongsa.decoding.beam_search import beam_search
from tongsa.decoding.beams import SearchStrategy
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.rules import forced_prefix, sampling_selection
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.scorers import decoder_scorer
from tongsa.decoding.text_model import TextModel, ensure_text_list
from tongsa.errors import InputError
from tongsa.tokenization.special import EOS
from tongsa.tokenization.tokenizer import Tokenizer

MAX_BATCH_TEXTS = 64
"""Maximum number of texts sampled in one batch."""


class TextGenerator(TextModel):
    """A language model with its tokenizer."""

    task = "language_model"

    @torch.inference_mode()
    def sample(
        self, count: int = 1, sampling: SamplingConfig | None = None, *, max_tokens: int = 100
    ) -> list[tuple[str, float]]:
        """Sample texts of at most `max_tokens` tokens, each with its log-probability under the model."""
        strategy = SearchStrategy(selection=sampling_selection((sampling or SamplingConfig()).build()))
        scorer, config = decoder_scorer(self.model.decoder), DecodingConfig(beam=1)
        samples: list[tuple[str, float]] = []
        for start in range(0, count, MAX_BATCH_TEXTS):
            batch_size = min(MAX_BATCH_TEXTS, count - start)
            max_lengths = torch.full((batch_size,), min(max_tokens, self.max_positions - 1), device=self.device)
            state = self.model.decoder.start(self.model.encoder(pad([[EOS]] * batch_size).to(self.device)))
            for (best,) in beam_search(scorer, state, max_lengths, config, strategy=strategy):
                samples.append((self.target_tokenizer.decode(best.tokens), best.log_prob))
        return samples

    @torch.inference_mode()
    def continue_text(self, text: str, sampling: SamplingConfig | None = None, *, max_tokens: int = 100) -> str:
        """Sample a continuation of at most `max_tokens` tokens; return the text with it."""
        prefix = self.target_tokenizer.encode_all([normalize(text)])[0]
        if len(prefix) + 1 >= self.max_positions:
            raise InputError(f"{len(prefix)} tokens; the model can process {self.max_positions - 1}. Shorten the text.")
        selection = sampling_selection((sampling or SamplingConfig()).build())
        strategy = SearchStrategy(rules=(forced_prefix([prefix]),), selection=selection)
        max_length = torch.tensor([min(len(prefix) + max_tokens, self.max_positions - 1)], device=self.device)
        state = self.model.decoder.start(self.model.encoder(pad([[EOS]]).to(self.device)))
        scorer = decoder_scorer(self.model.decoder)
        ((best,),) = beam_search(scorer, state, max_length, DecodingConfig(beam=1), strategy=strategy)
        return self.target_tokenizer.decode(best.tokens)

    @torch.inference_mode()
    def next_tokens(self, text: str, count: int = 10) -> list[tuple[str, float]]:
        """Return the likeliest tokens after a text with their probabilities, most probable first."""
        batch = self.encode_pairs([("", normalize(text))]).batch(np.array([0])).to(self.device)
        probabilities, tokens = self._log_probs(batch)[0, -1].exp().topk(min(count, len(self.target_tokenizer)))
        return list(zip(self.target_tokenizer.token_strings(tokens.tolist()), probabilities.tolist(), strict=True))

    def score_texts(self, texts: Sequence[str]) -> list[list[float]]:
        """Return log p(x_t | x_<t) of each token of each text, EOS last."""
        return self.score([("", text) for text in ensure_text_list(texts)])


@dataclass(frozen=True)
class ShallowFusion:
    """A language model whose log-probabilities are added to the translation model's, with this weight."""

    language_model: TextGenerator
    weight: float

    def __post_init__(self) -> None:
        if not 0 <= self.weight < float("inf"):
            raise InputError(f"lm_weight {self.weight} (--lm-weight): must be 0 or more. Try 0.2.")

    def require_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Raise InputError if the language model does not have the target tokenizer of the translation model."""
        if self.language_model.target_tokenizer.model_bytes != tokenizer.model_bytes:
            raise InputError(
                "lm (--lm): the language model has another tokenizer. "
                "Train it with --set tokenizer.reuse_from=RUN, where RUN is the run of the translation model."
            )
