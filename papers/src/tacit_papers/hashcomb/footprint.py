"""Table 1, which the paper fills with words, as numbers: bits per parameter, F1, and epsilon with
its privacy unit.
"""

from __future__ import annotations

from tacit import codecs
from tacit import plan as plans
from tacit.privacy import ledger
from tacit.reproduction import Scale
from tacit_papers.hashcomb.noise import BUDGET, clip_chosen
from tacit_papers.hashcomb.ours import short
from tacit_papers.hashcomb.settings import Tree, hashcomb, paper_gaussian, plain
from tacit_papers.hashcomb.tables import F1
from tacit_papers.published import Figures, PaperCell, PaperTable, PaperTrial

_ROUNDS, _CLIENTS, _DELTA = 8, 4, 1e-3
_SPAM = 6_571
"""Parameters of the model on Spam."""


def promise(codec_table: Tree, parameters: int, rounds: int, clients: int, delta: float) -> Figures:
    """The bits a client sends per parameter, and the privacy loss of all rounds, if a bound exists."""
    tree = {"codec": codec_table, "server": {"rounds": rounds}, "data": {"clients": clients}}
    settings = plans.parse(tree).codec
    made = codecs.build(settings, codecs.Extent(rounds=rounds, cohort=clients))
    account = ledger.charge(ledger.Account(), made.claims(parameters, clients), rounds, rounds)
    found = [
        total.epsilon
        for total in ledger.compute_totals(account, delta)
        if total.unit == "run" and total.epsilon is not None
    ]
    bits = 8 * made.payload_size(parameters) / parameters
    return {"last": {"bits": bits, **({"epsilon": min(found)} if found else {})}}


def measured(scale: Scale) -> PaperTable:
    """Table 1 in numbers, on Spam."""
    noisy = {"name": "rqm", "clip": 0.1, "margin": 0.1, "levels": 16, "keep": 0.42}
    binomial = {
        "name": "binomial",
        "settings": {"epsilon": 8.0, "delta": 1e-4, "clip": 1.0, "steps": 16},
    }
    unclipped = {
        "dp_sum: the server is trusted": "dp_sum",
        "gaussian: nobody is trusted": "gaussian",
    }
    arms: dict[str, Tree] = {
        "NoHC: 32-bit floats": plain(),
        "HC8, keyed tokens": hashcomb("spam", 8),
        "HC8, published tokens of 28 bits": hashcomb("spam", 8, tokens="paper"),
        "HC8, published tokens of 128 bits": hashcomb("spam", 8, tokens="paper", token_bits=128),
        "the publication's Gaussian noise": paper_gaussian(),
        "rqm, 16 levels": noisy,
        "qsgd, 4 bits": {"name": "qsgd", "bits": 4},
        "sign, 1 bit": {"name": "sign"},
        "lrq: the server knows the seeds": {
            "name": "lrq",
            "settings": {"stddev": 0.02, "clip": 1.0},
        },
        "binomial (cpSGD), epsilon 8 per update": binomial,
        **{title: {"name": name, **BUDGET} for title, name in unclipped.items()},
    }
    cells = []
    for row, table in arms.items():
        private = row in unclipped
        facts = _promise(table | ({"clip": 1.0} if private else {}))
        cells.append(
            PaperCell(row=row, column="bits per parameter", paper=None, trial=facts, metric="bits")
        )
        trial = clip_chosen(scale, "spam", table) if private else short(scale, "spam", table)
        cells.append(PaperCell(row=row, column="F1", paper=None, trial=trial, metric=F1))
        if private or table in (noisy, binomial):
            column = "epsilon per run at delta 1e-3"
            cells.append(
                PaperCell(row=row, column=column, paper=None, trial=facts, metric="epsilon")
            )
    note = (
        "Spam. Epsilon covers all rounds of a client"
        " together, if all its rows are replaced (for dp_sum: if the client is added or removed). A"
        " missing epsilon means that none exists, whatever the publication states. Bits are those"
        " of messages; the histogram that HashComb sends back has as many bits as all messages"
        " together. `binomial` clips to L2 norm 1, at delta 1e-4 per update. `lrq` clips to L2 norm"
        " 1, and its error has a deviation of .02; the guarantee that its publication states is for"
        " a party without the seeds, which the server has. `skellam` needs secure aggregation,"
        " and is not in this table."
    )
    return PaperTable(
        name="1",
        title="Privacy loss and guarantee of the mechanisms",
        cells=tuple(cells),
        note=note,
    )


def _promise(table: Tree) -> PaperTrial:
    settings = {
        "codec_table": table,
        "parameters": _SPAM,
        "rounds": _ROUNDS,
        "clients": _CLIENTS,
        "delta": _DELTA,
    }
    return PaperTrial(kind="hashcomb_promise", settings=settings, seeds=())


TABLES = (measured,)
