"""transformers' Marian of the same size, trained by the plain loop."""

from ordinary import Ordinary
from task import BOS, EOS, PAD, Corpus, Task
from torch import Tensor, nn
from work import serve


class Marian(nn.Module):
    def __init__(self, task: Task, vocab_size: int) -> None:
        from transformers import MarianConfig, MarianMTModel

        super().__init__()
        size = task.size
        sides = {
            f"{side}_{name}": value
            for side in ("encoder", "decoder")
            for name, value in (
                ("layers", size.layers),
                ("attention_heads", size.heads),
                ("ffn_dim", size.ffn_width),
            )
        }
        settings = MarianConfig(
            vocab_size=vocab_size,
            d_model=size.width,
            dropout=task.dropout,
            attention_dropout=0.0,
            activation_dropout=0.0,
            activation_function="relu",
            max_position_embeddings=512,
            scale_embedding=True,
            share_encoder_decoder_embeddings=True,
            tie_word_embeddings=True,
            use_cache=False,
            pad_token_id=PAD,
            eos_token_id=EOS,
            forced_eos_token_id=EOS,
            decoder_start_token_id=BOS,
            **sides,
        )
        self.model = MarianMTModel(settings)

    def forward(self, source: Tensor, decoder_input: Tensor) -> Tensor:  # (batch, length, vocabulary)
        logits: Tensor = self.model(
            input_ids=source, attention_mask=(source != PAD).long(), decoder_input_ids=decoder_input
        ).logits
        return logits


def contestant(task: Task, corpus: Corpus) -> Ordinary:
    return Ordinary(Marian(task, corpus.vocab_size), task, corpus)


if __name__ == "__main__":
    serve(contestant)
