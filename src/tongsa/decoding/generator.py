"""Text from nothing: a language model drawn from, step after step."""

from collections.abc import Sequence

import torch

from tongsa.batch import pad
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.request import DecodeRequest, decode
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.scorers import decoder_scorer
from tongsa.decoding.text_model import TextModel, ensure_text_list
from tongsa.tokenization.special import EOS

MAX_BATCH_TEXTS = 64
"""Texts drawn side by side."""


class TextGenerator(TextModel):
    task = "language_model"

    @torch.inference_mode()
    def sample(
        self, count: int = 1, sampling: SamplingConfig | None = None, *, max_tokens: int = 100
    ) -> list[tuple[str, float]]:
        """So many texts, of at most `longest` pieces, each with its log-probability under the model."""
        request = DecodeRequest(sampler=(sampling or SamplingConfig()).build())
        found: list[tuple[str, float]] = []
        for start in range(0, count, MAX_BATCH_TEXTS):
            rows = min(MAX_BATCH_TEXTS, count - start)
            limits = torch.full((rows,), min(max_tokens, self.max_positions - 1), device=self.device)
            state = self.model.decoder.start(self.model.encoder(pad([[EOS]] * rows).to(self.device)))
            answers = decode(decoder_scorer(self.model.decoder), state, limits, DecodingConfig(beam=1), 1, request)
            found += [(self.target_tokenizer.decode(best.tokens), best.log_prob) for (best,) in answers]
        return found

    def score_texts(self, texts: Sequence[str]) -> list[list[float]]:
        """Log p(x_t | x_<t) of each piece of each text, </s> last."""
        return self.score([("", text) for text in ensure_text_list(texts)])
