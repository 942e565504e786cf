"""TextGenerator: sampling and scoring text with a language model."""

from collections.abc import Sequence

import torch

from tongsa.batch import pad
from tongsa.decoding.beam_search import beam_search
from tongsa.decoding.beams import SearchStrategy
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.rules import sampling_selection
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.scorers import decoder_scorer
from tongsa.decoding.text_model import TextModel, ensure_text_list
from tongsa.tokenization.special import EOS

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

    def score_texts(self, texts: Sequence[str]) -> list[list[float]]:
        """Return log p(x_t | x_<t) of each token of each text, EOS last."""
        return self.score([("", text) for text in ensure_text_list(texts)])
