"""What the server answers is what the translator says, whoever else is asking."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import tongsa
from served import Running, Stall, drawn, serving, texts, wait_for
from tongsa.decoding.glossary import Glossary
from tongsa.server.answers import words_of_tokens
from tongsa.server.batch_tasks import TranslateTask
from tongsa.server.model_pool import LoadedModel
from tongsa.server.queue import QueuedSentence


def wrong(server: Running, sources: list[str], translator: Any) -> list[str]:
    """Of texts asked for at the same time those whose answer is not the translator's own."""
    with ThreadPoolExecutor(len(sources)) as clients:
        found = list(clients.map(server.translate, sources))
    own = translator.translate(sources)
    assert len({one.text for one in own}) > len(sources) / 4, "nearly all answers are the same: choose another seed"
    return [
        text
        for text, (answer,), best in zip(sources, found, own, strict=True)
        if answer["text"] != best.text or answer["sentences"][0]["score"] != pytest.approx(best.score, abs=1e-4)
    ]


def test_two_hundred_at_once_each_get_the_translators_own_answer(run: Path) -> None:
    translator = tongsa.load(run, engine="torch")
    with serving(run, wait_ms=50) as server:
        assert wrong(server, texts(200), translator) == []
        sizes = server.service.metrics.registry.get_sample_value("tongsa_batch_sentences_count", {"model": "en-ko"})
        assert sizes is not None
        assert sizes < 100, "hardly anybody shared a batch"


def test_answers_given_to_the_wrong_client_are_noticed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = TranslateTask.run

    def turned(self: TranslateTask, model: LoadedModel, jobs: list[QueuedSentence]) -> list[Any]:
        return right(self, model, jobs)[::-1]

    monkeypatch.setattr(TranslateTask, "run", turned)
    with serving(run, wait_ms=50) as server:
        assert wrong(server, texts(20), tongsa.load(run, engine="torch"))


def test_a_text_keeps_its_white_space_and_every_sentence_its_place(server: Running) -> None:
    text = "  a b c!  D e!\n\n\tf g \u3000"
    (made,) = server.translate(text)
    end = target_end = 0
    for one in made["sentences"]:
        assert text[one["start"] : one["end"]] == one["source"]
        assert made["text"][one["target_start"] : one["target_end"]] == one["text"]
        assert made["text"][target_end : one["target_start"]] == text[end : one["start"]]
        end, target_end = one["end"], one["target_end"]
    assert len(made["sentences"]) == 3
    assert made["text"][target_end:] == text[end:] == " \u3000"


def test_nothing_to_translate_is_given_back(server: Running) -> None:
    assert server.translate(["", " \n"]) == [{"text": "", "sentences": []}, {"text": " \n", "sentences": []}]


def test_a_stream_tells_the_same_sentences_line_by_line(server: Running) -> None:
    asked = {"text": ["a b? C d! E", "f\ng"], "probabilities": True}
    whole = server.post("/v1/translate", asked).json()["translations"]
    answer = server.post("/v1/translate", asked | {"stream": True})
    assert answer.headers["content-type"] == "application/x-ndjson"
    *lines, last = [json.loads(line) for line in answer.text.splitlines()]
    assert last == {"done": True}
    assert [line["index"] for line in lines] == [0, 0, 0, 1, 1]
    for index, made in enumerate(whole):
        streamed = [line["sentence"] for line in lines if line["index"] == index]
        assert [one["text"] for one in streamed] == [one["text"] for one in made["sentences"]]
        assert [one["target_start"] for one in streamed] == [one["target_start"] for one in made["sentences"]]


def test_the_first_lines_of_a_stream_come_while_the_rest_is_still_waiting(run: Path) -> None:
    with serving(run, window=1) as server:
        reader = server.worker.model.reader
        asked = {"text": "a b\nc d\ne f", "stream": True}
        with Stall(reader, after=1) as stall, server.socket() as client:
            body = json.dumps(asked).encode()
            head = f"POST /v1/translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
            client.sendall(head.encode() + body)
            assert stall.begun.wait(20)
            seen = b""
            while b'"sentence"' not in seen:
                seen += client.recv(65536)
            assert seen.count(b'"sentence"') == 1
            assert stall.batches == [["a b"], ["c d"]], "it came when more was done than the first sentence"
            stall.free.set()
            while b'"done":true' not in seen:
                seen += client.recv(65536)
            assert stall.batches == [["a b"], ["c d"], ["e f"]], "sentences did not go one after another"
        assert seen.count(b'"sentence"') == 3


def test_alternatives_alignments_and_probabilities_are_the_translators(server: Running, run: Path) -> None:
    text = "a  b c"
    (made,) = server.translate(text, nbest=3, beam=5, alignments=True, probabilities=True)
    (one,) = made["sentences"]
    best = tongsa.load(run, engine="torch").translate([text], nbest=3, beam=5)[0]
    assert [other["text"] for other in one["alternatives"]] == [other.text for other in best.alternatives]
    assert [text[slice(*span)] for span in one["alignment"]["source"]] == ["a", "b", "c"]
    words = [one["text"][slice(*span)] for span in one["alignment"]["target"]]
    assert words == one["text"].split()
    assert [(word["start"], word["end"]) for word in one["words"]] == [tuple(s) for s in one["alignment"]["target"]]
    assert {j for _, j in one["alignment"]["links"]} == set(range(len(words)))
    assert all(0 < word["probability"] <= 1 for word in one["words"])
    assert 0 < one["confidence"] <= 1


def test_a_run_of_pieces_knows_its_words_also_where_one_is_unknown_or_a_space_alone() -> None:
    pieces = ["▁a", "b", "▁", "▁c", "<unk>", "d", "▁e"]  # written: ab c ⁇ d e
    assert words_of_tokens(pieces, 5) == [range(1), range(1, 1), range(1, 4), range(4, 5)]
    assert words_of_tokens(pieces, 2)[-1] == range(2, 2), "a word that is not written was given a place"


def test_a_word_is_as_sure_as_its_least_likely_piece(server: Running, run: Path) -> None:
    some = texts(50)
    made_of = zip(some, tongsa.load(run, engine="torch").translate(some), strict=True)
    text, best = next(pair for pair in made_of if len(pair[1].text.split()) > 1)
    (made,) = server.translate(text, probabilities=True)
    starts = [at for at, piece in enumerate(best.pieces) if piece.startswith("▁")]
    if best.pieces and starts[:1] != [0]:
        starts = [0, *starts]
    lowest = [min(best.logs[begin:end]) for begin, end in pairwise([*starts, len(best.pieces)])]
    told = [word["probability"] for word in made["sentences"][0]["words"]]
    assert min(told) == pytest.approx(min(2.718281828459045**low for low in lowest), rel=1e-3)


def told(pieces: list[dict[str, Any]]) -> tuple[list[str], list[float]]:
    return [one["piece"] for one in pieces], [one["probability"] for one in pieces]


def test_pieces_and_their_probabilities_are_the_translators(server: Running, run: Path) -> None:
    assert "pieces" not in server.translate("a b c", nbest=2, probabilities=True)[0]["sentences"][0]
    (made,) = server.translate("a b c", nbest=3, beam=5, piece_probabilities=True)
    (one,) = made["sentences"]
    best = tongsa.load(run, engine="torch").translate(["a b c"], nbest=3, beam=5)[0]
    for shown, own in zip([one, *one["alternatives"]], [best, *best.alternatives], strict=True):
        pieces, probabilities = told(shown["pieces"])
        assert pieces == [*own.pieces, "</s>"]
        assert probabilities == pytest.approx([math.exp(log) for log in own.logs], rel=1e-4)
    assert math.fsum(map(math.log, told(one["pieces"])[1])) == pytest.approx(best.total, abs=1e-4)
    (nothing,) = server.translate("\0", piece_probabilities=True, probabilities=True)  # it has no piece
    assert [(one["text"], one["pieces"], one["words"]) for one in nothing["sentences"]] == [("", [], [])]


def test_terms_are_put_where_the_sentence_holds_them(server: Running, run: Path) -> None:
    (made,) = server.translate("a b! C d", terms=[{"source": "b", "target": "가 나"}])
    first, second = made["sentences"]
    assert first["terms"] == [{"source": "b", "target": "가 나", "text": "가 나", "wanted": 1, "found": 1, "met": True}]
    assert "가 나" in first["text"]
    assert "terms" not in second
    own = tongsa.load(run, engine="torch").translate(["a b!"], glossary=Glossary.from_pairs([("b", "가 나")]))[0]
    assert first["text"] == own.text


def test_a_prefix_begins_the_translation_and_alternatives_go_on_from_it(server: Running) -> None:
    (made,) = server.translate("a b c", prefix="가 나")
    assert made["text"].startswith("가 나")
    found = server.post("/v1/alternatives", {"text": "a b c", "prefix": "가", "count": 4}).json()["alternatives"]
    assert len({one["text"] for one in found}) >= 2
    assert all(one["text"].startswith("가") for one in found)
    assert all(one["ends"] == (one["text"] == "가") for one in found)


def test_scores_are_the_translators(server: Running, run: Path) -> None:
    found = server.post("/v1/score", {"source": "a b", "target": "가 나"}).json()
    (logs,) = tongsa.load(run, engine="torch").score([("a b", "가 나")])
    assert [piece["log"] for piece in found["pieces"]] == pytest.approx(logs, abs=1e-4)
    assert found["total"] == pytest.approx(sum(logs), abs=1e-3)
    assert found["pieces"][-1]["piece"] == "</s>"


def test_attention_and_search_are_what_the_pages_draw(server: Running) -> None:
    seen = server.post("/v1/attention", {"text": "a b c"}).json()
    assert [role["role"] for role in seen["readings"][0]["roles"]] == ["cross", "encoder", "decoder"]
    along = server.post("/v1/attention", {"text": "a b c", "target": "가 나"}).json()
    assert along["readings"][0]["translation"] == "가 나"
    tree = server.post("/v1/tree", {"text": "a b c", "beam": 2}).json()
    assert tree["beam"] == 2
    assert tree["translation"] == server.translate("a b c", beam=2)[0]["text"]


def test_models_are_chosen_by_name_and_by_languages(run: Path, tmp_path: Path) -> None:
    other = drawn(tmp_path / "other", seed=7)
    with serving(run, f"second={other}") as server:
        told = server.get("/v1/models").json()["models"]
        assert [(one["name"], one["default"]) for one in told] == [("en-ko", True), ("second", False)]
        first, second = tongsa.load(run, engine="torch"), tongsa.load(other, engine="torch")
        text = next(text for text in texts(50) if first(text).text != second(text).text)
        assert server.translate(text)[0]["text"] == server.translate(text, source="en")[0]["text"] == first(text).text
        assert server.translate(text, model="second")[0]["text"] == second(text).text
        refused = server.post("/v1/translate", {"text": text, "source": "fr"})
        assert (refused.status_code, refused.json()["code"]) == (404, "unknown_model")
        near = server.post("/v1/translate", {"text": text, "model": "secnd"})
        assert "did you mean 'second'?" in near.json()["error"]


def test_different_questions_do_not_share_a_batch(run: Path) -> None:
    with serving(run, wait_ms=30) as server, ThreadPoolExecutor(6) as clients:
        reader = server.worker.model.reader
        with Stall(reader) as stall:
            first = clients.submit(server.translate, "a")
            assert stall.begun.wait(20)
            rest = [clients.submit(server.translate, text, beam=beam) for text in ("b", "c") for beam in (1, 2)]
            wait_for(lambda: server.worker.queued_count == 4)
            stall.free.set()
            for one in (first, *rest):
                one.result()
            assert sorted(map(len, stall.batches)) == [1, 2, 2]


def test_a_sentence_longer_than_the_model_is_translated_in_parts_and_nothing_is_lost(server: Running) -> None:
    text = "a b c d e f g, " * 12 + "a" * 200
    (made,) = server.translate(text)
    parts = made["sentences"]
    assert len(parts) > 3
    assert not any(one["cut"] for one in parts)
    end = 0
    for one in parts:
        assert not text[end : one["start"]].strip()
        end = one["end"]
    assert end == len(text)
    assert sum(one["source"].endswith(",") for one in parts) >= 2, "none was cut behind a comma"
