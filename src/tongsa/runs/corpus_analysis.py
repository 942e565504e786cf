"""Analysis of a corpus for `tongsa data report`: a cleaning that writes nothing, and misaligned blocks."""

from dataclasses import replace
from pathlib import Path
from time import monotonic

from tongsa import storage
from tongsa.checks.misaligned_blocks import find_misaligned_blocks
from tongsa.data.cleaning.report import corpus_report
from tongsa.data.cleaning.report_data import CorpusReport
from tongsa.data.corpus import CorpusError
from tongsa.data.ledger import Ledger
from tongsa.runs.cleaning import Cleaning, work_folder


def corpus_analysis(cleaning: Cleaning, output: Path) -> CorpusReport:
    """Return what cleaning would drop and repair; `output` is the page, beside which the work is done.

    Misaligned blocks are looked for in pairs of texts, also if their filter is off.
    """
    started, ledger = monotonic(), Ledger(None)
    with storage.lock_replacement(output), work_folder(output) as work:
        cleaned = cleaning.run(ledger, work)
        if not len(cleaned.drops):
            raise CorpusError(f"{cleaning.data.train[0]}: no usable pair. Check the format and --columns.")
        report = corpus_report(cleaned, ledger, monotonic() - started)
        if cleaning.task == "seq2seq" and "alignment" not in cleaning.plan.filter_names:
            report = replace(report, blocks=tuple(find_misaligned_blocks(cleaned.pairs)))
    return replace(report, seconds=round(monotonic() - started, 3))
