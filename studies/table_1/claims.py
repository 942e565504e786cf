"""Claims about Table 1 (Vaswani et al. 2017, section 4), and their verdicts."""

from studies.intervals import combine_verdicts, verdict_below
from studies.study import Claim, Text, Values
from studies.table_1.exponents import (
    close,
    count_exponents,
    crossing_verdict,
    exponent_pairs,
    is_logarithmic,
    show_crossing,
    time_ratios,
)
from studies.table_1.layers import KERNEL, RECURRENT

SIMILAR = (0.5, 2.0)
"""Ratio of two costs that count as the same."""
SOURCE = Text("Vaswani et al. 2017, section 4, Table 1", "Vaswani et al. 2017, 4절 표 1")


def claims(values: Values) -> list[Claim]:
    return [
        *_exponent_claims(values),
        _dilated_claim(values),
        *_cheaper_claims(values),
        _separable_claim(values),
        _example_claim(values),
    ]


def _exponent_claims(values: Values) -> list[Claim]:
    layers = list(values["hops"])
    counts, steps, paths = exponent_pairs(values)
    attention, recurrent = count_exponents(values, "self-attention"), count_exponents(values, "gru")
    hops = {name: values["hops"][name][-1][0] for name in layers}
    length = values["path_lengths"][-1]
    return [
        Claim(
            source=SOURCE,
            says=Text(
                "Cost per layer: n²·d for self-attention, r·n·d if local, n·d² for recurrence, k·n·d² for convolution.",
                "층당 비용: 자기 어텐션 n²·d, 국소 어텐션 r·n·d, 순환 n·d², 합성곱 k·n·d².",
            ),
            ran=Text(
                "Multiply-adds counted without projections; exponents of n and d fitted.",
                "투영을 뺀 곱셈-덧셈 횟수를 세고 n과 d의 지수를 맞춤.",
            ),
            seen=Text(
                f"Self-attention n^{attention[0]:.2f} d^{attention[1]:.2f}, GRU n^{recurrent[0]:.2f} "
                f"d^{recurrent[1]:.2f}; the others in the table.",
                f"자기 어텐션 n^{attention[0]:.2f} d^{attention[1]:.2f}, GRU n^{recurrent[0]:.2f} "
                f"d^{recurrent[1]:.2f}; 나머지는 표 참조.",
            ),
            verdict=close(counts),
        ),
        Claim(
            source=SOURCE,
            says=Text(
                "Sequential operations: n for recurrence, a constant for the others.",
                "순차 연산의 수: 순환은 n, 나머지는 상수.",
            ),
            ran=Text("Longest chain of dependent matrix products.", "서로 의존하는 행렬곱의 가장 긴 사슬."),
            seen=Text(
                f"At n = {length}: self-attention {values['products']['self-attention'][-1]}, GRU "
                f"{values['products']['gru'][-1]}, convolution {values['products']['convolution'][-1]}.",
                f"n = {length}에서 자기 어텐션 {values['products']['self-attention'][-1]}, GRU "
                f"{values['products']['gru'][-1]}, 합성곱 {values['products']['convolution'][-1]}.",
            ),
            verdict=close(steps),
        ),
        Claim(
            source=SOURCE,
            says=Text(
                "Maximum path length: 1 for self-attention, n for recurrence, n/r if local, n/k for convolution.",
                "최대 경로 길이: 자기 어텐션 1, 순환 n, 국소 어텐션 n/r, 합성곱 n/k.",
            ),
            ran=Text(
                "Hops until the gradient from the first input to the last output is not zero.",
                "첫 입력에서 마지막 출력으로 가는 그래디언트가 0이 아닐 때까지의 홉 수.",
            ),
            seen=Text(
                f"At n = {length}: self-attention {hops['self-attention']}, GRU {hops['gru']}, local "
                f"{hops['local-attention']}, convolution {hops['convolution']}.",
                f"n = {length}에서 자기 어텐션 {hops['self-attention']}, GRU {hops['gru']}, 국소 어텐션 "
                f"{hops['local-attention']}, 합성곱 {hops['convolution']}.",
            ),
            verdict=close(paths),
        ),
    ]


def _cheaper_claims(values: Values) -> list[Claim]:
    ratios = {name: time_ratios(values, name) for name in RECURRENT}
    means = [interval.mean for intervals in ratios.values() for interval in intervals]
    plain, gru, lstm = (show_crossing(values, name) for name in ("rnn", "gru", "lstm"))
    source = Text("Vaswani et al. 2017, section 4", "Vaswani et al. 2017, 4절")
    says = Text("Self-attention is cheaper than recurrence where n < d.", "n < d이면 자기 어텐션이 순환보다 싸다.")
    return [
        Claim(
            source=source,
            says=says,
            ran=Text(
                "All multiply-adds counted, with projections; largest n at which self-attention has fewer.",
                "투영을 포함한 모든 곱셈-덧셈; 자기 어텐션이 더 적은 가장 큰 n.",
            ),
            seen=Text(
                f"Than a plain unit: {plain.en}; than a GRU: {gru.en}; than an LSTM: {lstm.en}.",
                f"단순 순환 층보다: {plain.ko}; GRU보다: {gru.ko}; LSTM보다: {lstm.ko}.",
            ),
            verdict=combine_verdicts(
                crossing_verdict(crossings, values["crossing_widths"]) for crossings in values["crossings"].values()
            ),
        ),
        Claim(
            source=source,
            says=Text(f"{says.en[:-1]}, in time.", "n < d이면 자기 어텐션이 순환보다 빠르다(시간)."),
            ran=Text(
                f"Forward and backward pass at n = {values['length']} and larger d; CPU time of one thread.",
                f"n = {values['length']}와 그보다 큰 d에서 순전파와 역전파; 스레드 하나의 CPU 시간.",
            ),
            seen=Text(
                f"Self-attention takes {min(means):.2f}–{max(means):.2f} of the time of the recurrent layers.",
                f"자기 어텐션의 시간은 순환 층의 {min(means):.2f}–{max(means):.2f}배.",
            ),
            verdict=combine_verdicts(
                verdict_below(interval, 1.0) for intervals in ratios.values() for interval in intervals
            ),
        ),
    ]


def _dilated_claim(values: Values) -> Claim:
    hops = ", ".join(str(seeds[0]) for seeds in values["hops"]["dilated"])
    lengths = ", ".join(map(str, values["path_lengths"]))
    return Claim(
        source=SOURCE,
        says=Text(
            "With dilated convolutions the maximum path length is log_k(n).",
            "팽창 합성곱의 최대 경로 길이는 log_k(n)이다.",
        ),
        ran=Text(
            f"Stack with dilations 1, {KERNEL}, {KERNEL**2}, …; the same hops.",
            f"팽창률 1, {KERNEL}, {KERNEL**2}, …로 쌓은 층; 같은 홉 수.",
        ),
        seen=Text(f"n = {lengths}: {hops} layers.", f"n = {lengths}: 층 {hops}개."),
        verdict="holds" if is_logarithmic(values, KERNEL) else "fails",
    )


def _separable_claim(values: Values) -> Claim:
    ratios = [both / separable for separable, both in values["widest_separable"].values()]
    similar = all(SIMILAR[0] <= ratio <= SIMILAR[1] for ratio in ratios)
    return Claim(
        source=Text("Vaswani et al. 2017, section 4", "Vaswani et al. 2017, 4절"),
        says=Text(
            "With k = n a separable convolution costs as much as self-attention and a feed-forward layer together.",
            "k = n이면 분리 가능 합성곱의 비용은 자기 어텐션과 피드포워드 층을 합친 것과 같다.",
        ),
        ran=Text(
            "All multiply-adds at n = d, feed-forward layer four times as wide.",
            "n = d에서 모든 곱셈-덧셈; 피드포워드 층의 너비는 네 배.",
        ),
        seen=Text(
            f"Both grow with n²·d + n·d², but attention and feed-forward take {max(ratios):.1f} times as many.",
            f"둘 다 n²·d + n·d²로 늘지만, 어텐션과 피드포워드의 횟수가 {max(ratios):.1f}배.",
        ),
        verdict="holds" if similar else "partly" if max(ratios) - min(ratios) < 0.1 * min(ratios) else "fails",
    )


def _example_claim(values: Values) -> Claim:
    recurrent, attention = (sorted(set(values["example"][name])) for name in ("recurrent", "attention"))
    shown = [", ".join(map(str, steps)) for steps in (recurrent, attention)]
    return Claim(
        source=Text("Notes on section 4", "4절에 대한 노트"),
        says=Text(
            "“i love you” → “난 너를 사랑해”: from i to 사랑해 a recurrent model takes 6 steps, attention 1.",
            "“i love you” → “난 너를 사랑해”에서 i부터 사랑해까지 순환 모델은 6단계, 어텐션은 1단계이다.",
        ),
        ran=Text(
            "States on every path, found by treating each as a constant; attention layers needed.",
            "각 상태를 상수로 바꾸어 모든 경로가 지나는 상태를 찾음; 필요한 어텐션 층의 수.",
        ),
        seen=Text(f"Recurrent {shown[0]}, attention {shown[1]}.", f"순환 {shown[0]}, 어텐션 {shown[1]}."),
        verdict="holds" if (recurrent, attention) == ([6], [1]) else "fails",
    )
