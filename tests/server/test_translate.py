"""The server's results equal the translator's, whatever other clients request at the same time."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import tongsa
from live_server import BlockedModel, LiveServer, live_server, random_model, sample_texts, wait_for
from tongsa.decoding.glossary import Glossary, find_phrase
from tongsa.server.batch_tasks import TranslateTask, words_of_tokens
from tongsa.server.model_pool import LoadedModel
from tongsa.server.queued_sentence import QueuedSentence


def wrong_results(server: LiveServer, sources: list[str], translator: Any) -> list[str]:
    """Translate texts at the same time; return those whose result differs from the translator's."""
    with ThreadPoolExecutor(len(sources)) as clients:
        results = list(clients.map(server.translate, sources))
    expected = translator.translate(sources)
    assert len({best.text for best in expected}) > len(sources) / 4, "nearly all results are equal: choose another seed"
    return [
        text
        for text, (result,), best in zip(sources, results, expected, strict=True)
        if result["text"] != best.text or result["sentences"][0]["score"] != pytest.approx(best.score, abs=1e-4)
    ]


def test_two_hundred_clients_each_get_the_translators_result(run: Path) -> None:
    translator = tongsa.load(run, engine="torch", task="seq2seq")
    with live_server(run, batch_wait_ms=50) as server:
        assert wrong_results(server, sample_texts(200), translator) == []
        batch_count = server.metric("tongsa_batch_sentences_count", model="en-ko")
        assert batch_count is not None
        assert batch_count < 100, "few sentences shared a batch"


def test_swapped_results_would_be_noticed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finish = TranslateTask.finish

    def reversed_results(
        task: TranslateTask, model: LoadedModel, sentences: list[QueuedSentence], outputs: Any
    ) -> list[Any]:
        return finish(task, model, sentences, outputs)[::-1]

    monkeypatch.setattr(TranslateTask, "finish", reversed_results)
    with live_server(run, batch_wait_ms=50) as server:
        assert wrong_results(server, sample_texts(20), tongsa.load(run, engine="torch", task="seq2seq"))


def test_a_text_keeps_its_white_space_and_sentences_their_positions(server: LiveServer) -> None:
    text = "  a b c!  D e!\n\n\tf g \u3000"
    (translated,) = server.translate(text)
    end = target_end = 0
    for sentence in translated["sentences"]:
        assert text[sentence["start"] : sentence["end"]] == sentence["source"]
        assert translated["text"][sentence["target_start"] : sentence["target_end"]] == sentence["text"]
        assert translated["text"][target_end : sentence["target_start"]] == text[end : sentence["start"]]
        end, target_end = sentence["end"], sentence["target_end"]
    assert len(translated["sentences"]) == 3
    assert translated["text"][target_end:] == text[end:] == " \u3000"


def test_empty_texts_are_returned_unchanged(server: LiveServer) -> None:
    assert server.translate(["", " \n"]) == [{"text": "", "sentences": []}, {"text": " \n", "sentences": []}]


def test_a_stream_has_the_same_sentences_line_by_line(server: LiveServer) -> None:
    request = {"text": ["a b? C d! E", "f\ng"], "word_probabilities": True}
    translations = server.post("/v1/translate", request).json()["translations"]
    response = server.post("/v1/translate", request | {"stream": True})
    assert response.headers["content-type"] == "application/x-ndjson"
    *lines, last = [json.loads(line) for line in response.text.splitlines()]
    assert last == {"done": True}
    assert [line["index"] for line in lines] == [0, 0, 0, 1, 1]
    for index, translated in enumerate(translations):
        streamed = [line["sentence"] for line in lines if line["index"] == index]
        for key in ("text", "start", "target_start", "target_end"):
            assert [sentence[key] for sentence in streamed] == [sentence[key] for sentence in translated["sentences"]]


def test_a_stream_sends_its_first_line_while_the_rest_waits(run: Path) -> None:
    with live_server(run, max_inflight_per_request=1) as server:
        request = {"text": "a b\nc d\ne f", "stream": True}
        with BlockedModel(server.queue.model.text_model, batches_before=1) as blocked, server.socket() as client:
            body = json.dumps(request).encode()
            head = f"POST /v1/translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
            client.sendall(head.encode() + body)
            blocked.wait()
            received = b""
            while b'"sentence"' not in received:
                received += client.recv(65536)
            assert received.count(b'"sentence"') == 1
            assert blocked.batches == [["a b"], ["c d"]], "the first line came after more than one sentence"
            blocked.release.set()
            while b'"done":true' not in received:
                received += client.recv(65536)
            assert blocked.batches == [["a b"], ["c d"], ["e f"]], "sentences were not queued one after another"
        assert received.count(b'"sentence"') == 3


def test_alternatives_alignments_and_word_probabilities(server: LiveServer, run: Path) -> None:
    text = "a  b c"
    (translated,) = server.translate(text, nbest=3, beam=5, alignments=True, word_probabilities=True)
    (sentence,) = translated["sentences"]
    best = tongsa.load(run, engine="torch", task="seq2seq").translate([text], nbest=3, beam=5)[0]
    alternatives = [alternative["text"] for alternative in sentence["alternatives"]]
    assert alternatives == [alternative.text for alternative in best.alternatives]
    alignment = sentence["alignment"]
    assert [text[slice(*span)] for span in alignment["source"]] == ["a", "b", "c"]
    words = [sentence["text"][slice(*span)] for span in alignment["target"]]
    assert words == sentence["text"].split()
    assert [[word["start"], word["end"]] for word in sentence["words"]] == alignment["target"]
    assert {target for _, target in alignment["links"]} == set(range(len(words)))
    assert all(0 < word["probability"] <= 1 for word in sentence["words"])
    assert 0 < sentence["confidence"] <= 1


def test_token_groups_know_their_words_around_unknown_tokens_and_lone_spaces() -> None:
    tokens = ["▁a", "b", "▁", "▁c", "<unk>", "d", "▁e"]  # written: ab c ⁇ d e
    assert words_of_tokens(tokens, 5) == [range(1), range(1, 1), range(1, 4), range(4, 5)]
    assert words_of_tokens(tokens, 2)[-1] == range(2, 2), "a word beyond the text has no index"


def test_a_words_probability_is_that_of_its_least_likely_token(server: LiveServer, run: Path) -> None:
    texts = sample_texts(50)
    translations = tongsa.load(run, engine="torch", task="seq2seq").translate(texts)
    text, best = next(pair for pair in zip(texts, translations, strict=True) if len(pair[1].text.split()) > 1)
    (translated,) = server.translate(text, word_probabilities=True)
    starts = [i for i, token in enumerate(best.tokens) if i == 0 or token.startswith("▁")]
    lowest = [min(best.token_log_probs[begin:end]) for begin, end in pairwise([*starts, len(best.tokens)])]
    probabilities = [word["probability"] for word in translated["sentences"][0]["words"]]
    assert min(probabilities) == pytest.approx(math.exp(min(lowest)), rel=1e-3)


def test_token_probabilities_are_the_translators(server: LiveServer, run: Path) -> None:
    assert "tokens" not in server.translate("a b c", nbest=2, word_probabilities=True)[0]["sentences"][0]
    (translated,) = server.translate("a b c", nbest=3, beam=5, token_probabilities=True)
    (sentence,) = translated["sentences"]
    best = tongsa.load(run, engine="torch", task="seq2seq").translate(["a b c"], nbest=3, beam=5)[0]
    for actual, expected in zip([sentence, *sentence["alternatives"]], [best, *best.alternatives], strict=True):
        assert [token["token"] for token in actual["tokens"]] == [*expected.tokens, "</s>"]
        probabilities = [token["probability"] for token in actual["tokens"]]
        assert probabilities == pytest.approx([math.exp(value) for value in expected.token_log_probs], rel=1e-4)
    log_prob = math.fsum(math.log(token["probability"]) for token in sentence["tokens"])
    assert log_prob == pytest.approx(best.log_prob, abs=1e-4)
    (empty,) = server.translate("\0", token_probabilities=True, word_probabilities=True)  # no tokens
    assert [(item["text"], item["tokens"], item["words"]) for item in empty["sentences"]] == [("", [], [])]


def test_glossary_terms_are_enforced_in_the_sentences_that_have_them(server: LiveServer, run: Path) -> None:
    (translated,) = server.translate("a b! C d", glossary=[{"source": "b", "target": "가 나"}])
    first, second = translated["sentences"]
    assert "terms" not in second
    translator = tongsa.load(run, engine="torch", task="seq2seq")
    (expected,) = translator.translate(["a b!"], glossary=Glossary.from_pairs([("b", "가 나")]))
    record = expected.terms[0].record
    assert first["text"] == expected.text + expected.final_punctuation
    assert first["terms"] == [{key: value for key, value in record.items() if key != "skipped_reason" or value}]


def test_a_prefix_begins_the_translation_and_alternatives_continue_it(server: LiveServer) -> None:
    (translated,) = server.translate("a b c", prefix="가 나")
    assert translated["text"].startswith("가 나")
    request = {"text": "a b c", "prefix": "가", "count": 4}
    alternatives = server.post("/v1/alternatives", request).json()["alternatives"]
    assert len({alternative["text"] for alternative in alternatives}) >= 2
    assert all(alternative["text"].startswith("가") for alternative in alternatives)
    assert all(alternative["is_finished"] == (alternative["text"] == "가") for alternative in alternatives)


def test_alternatives_say_which_terms_of_a_glossary_they_have(server: LiveServer) -> None:
    terms = [{"source": "b", "target": "가 나"}, {"source": "c", "target": "다 " * 60}, {"source": "z", "target": "바"}]

    def ask(prefix: str, glossary: list[dict[str, str]]) -> list[dict[str, Any]]:
        request = {"text": "a b c", "prefix": prefix, "count": 4, "glossary": glossary}
        return list(server.post("/v1/alternatives", request).json()["alternatives"])

    assert not any("terms" in alternative for alternative in ask("가", []))
    free, forced = ask("", terms), ask("가", terms)
    assert all(alternative["text"].startswith("가") for alternative in forced)
    for alternative in free + forced:
        assert 0 < alternative["probability"] <= 1
        satisfied = {term["source"]: term["satisfied"] for term in alternative["terms"]}
        assert satisfied == {"b": bool(find_phrase(alternative["text"], "가 나")), "c": False}
        assert alternative["terms"][1]["skipped_reason"]


def test_scores_are_the_translators(server: LiveServer, run: Path) -> None:
    response = server.post("/v1/score", {"source": "a b", "target": "가 나"}).json()
    (log_probs,) = tongsa.load(run, engine="torch", task="seq2seq").score([("a b", "가 나")])
    assert [token["log_prob"] for token in response["tokens"]] == pytest.approx(log_probs, abs=1e-4)
    assert response["log_prob"] == pytest.approx(sum(log_probs), abs=1e-3)
    assert response["tokens"][-1] == {"token": "</s>", "log_prob": pytest.approx(log_probs[-1], abs=1e-4)}


def test_attention_and_search_tree_are_those_of_the_translation(server: LiveServer) -> None:
    response = server.post("/v1/attention", {"text": "a b c"}).json()
    assert [role["role"] for role in response["examples"][0]["roles"]] == ["cross", "encoder", "decoder"]
    forced = server.post("/v1/attention", {"text": "a b c", "target": "가 나"}).json()
    assert forced["examples"][0]["translation"] == "가 나"
    tree = server.post("/v1/tree", {"text": "a b c", "beam": 2}).json()
    assert tree["beam"] == 2
    assert tree["translation"] == server.translate("a b c", beam=2)[0]["text"]


def test_models_are_selected_by_name_or_languages(run: Path, tmp_path: Path) -> None:
    other = random_model(tmp_path / "other", seed=7)
    with live_server(run, f"second={other}") as server:
        models = server.get("/v1/models").json()["models"]
        assert [(model["name"], model["default"]) for model in models] == [("en-ko", True), ("second", False)]
        first, second = (
            tongsa.load(run, engine="torch", task="seq2seq"),
            tongsa.load(other, engine="torch", task="seq2seq"),
        )
        text = next(text for text in sample_texts(50) if first(text).text != second(text).text)
        assert server.translate(text)[0]["text"] == first(text).text
        assert server.translate(text, source_language="en")[0]["text"] == first(text).text
        assert server.translate(text, model="second")[0]["text"] == second(text).text
        unknown = server.post("/v1/translate", {"text": text, "source_language": "fr"})
        assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_model")
        misspelled = server.post("/v1/translate", {"text": text, "model": "secnd"})
        assert "did you mean 'second'?" in misspelled.json()["error"]


def test_different_settings_do_not_share_a_batch(run: Path) -> None:
    with (
        live_server(run, batch_wait_ms=30) as server,
        ThreadPoolExecutor(6) as clients,
        BlockedModel(server.queue.model.text_model) as blocked,
    ):
        first = clients.submit(server.translate, "a")
        blocked.wait()
        rest = [clients.submit(server.translate, text, beam=beam) for text in ("b", "c") for beam in (1, 2)]
        wait_for(lambda: server.queue.queued_count == 4)
        blocked.release.set()
        for request in (first, *rest):
            request.result()
        assert sorted(map(len, blocked.batches)) == [1, 2, 2]


def test_a_sentence_longer_than_the_model_is_translated_in_parts_without_loss(server: LiveServer) -> None:
    text = "a b c d e f g, " * 12 + "a" * 200
    (translated,) = server.translate(text)
    parts = translated["sentences"]
    assert len(parts) > 3
    assert not any(part["truncated"] for part in parts)
    end = 0
    for part in parts:
        assert not text[end : part["start"]].strip()
        end = part["end"]
    assert end == len(text)
    assert sum(part["source"].endswith(",") for part in parts) >= 2, "no part ends with a comma"
