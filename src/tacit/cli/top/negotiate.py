"""tacit negotiate: agree on a range, levels and a secret without revealing the own range."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson, Deadline
from tacit.errors import PlanError

if TYPE_CHECKING:
    from tacit.negotiation import Negotiated

Run = Annotated[
    str,
    typer.Option(
        "--run", metavar="NAME", help="The run to negotiate for; the same for all parties."
    ),
]
Party = Annotated[
    int | None, typer.Option("--party", metavar="N", help="Number of this party, from 0.")
]
Parties = Annotated[
    str | None,
    typer.Option(
        "--parties",
        metavar="HOST:PORT,…",
        help="Addresses of all parties, party 0 first; loopback only.",
    ),
]
Range = Annotated[
    str | None,
    typer.Option(
        "--range",
        metavar="MIN,MAX",
        help="This party's range; `-` reads it from stdin, hidden from other users.",
    ),
]
Simulate = Annotated[
    str | None,
    typer.Option(
        "--simulate",
        metavar="MIN,MAX;…",
        help="For a test: start all parties as local processes, one per range.",
    ),
]
Levels = Annotated[
    int, typer.Option("--levels", metavar="L", help="Number of quantisation levels.")
]
Enlargement = Annotated[
    float,
    typer.Option(
        "--enlargement",
        metavar="X",
        help="Enlarge the range by its largest absolute value divided by X.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Where to write the result with its secret; readable only by you.",
    ),
]


def negotiate(
    run: Run,
    party: Party = None,
    parties: Parties = None,
    local_range: Range = None,
    ranges: Simulate = None,
    levels: Levels = 8,
    enlargement: Enlargement = 2.0,
    out: Out = None,
    deadline: Deadline = 60.0,
    as_json: AsJson = False,
) -> None:
    """Agree on a range and a secret without revealing local ranges.

    It is done before round one, and also fixes the quantisation levels. Each
    of 3 to 7 parties runs this command. All parties learn the minimum and
    maximum over all ranges and a 128-bit secret, and nothing else. The
    negotiation fails for all if a party disagrees, drops out or is late.

    \b
    Examples:
      tacit negotiate --run news-1 --party 0 --range -0.31,0.28 --out agreed.json \\
        --parties 127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003
      tacit negotiate --run trial --simulate "-0.3,0.2;-0.1,0.5;-0.2,0.1"
    """
    from tacit import negotiation

    if out is not None:
        negotiation.refuse_existing(out)
    if ranges is not None and party is None:
        given = [_parse_range(one) for one in ranges.split(";")]
        terms = negotiation.NegotiationTerms(
            run=run, parties=len(given), levels=levels, enlargement=enlargement
        )
        # All parties have the same result, and have proved it to each other.
        agreed = negotiation.simulate(terms, given, seconds=deadline)[0]
    elif (
        ranges is None
        and party is not None
        and parties is not None
        and local_range is not None
        and out is not None
    ):
        addresses = negotiation.parse_addresses(parties)
        terms = negotiation.NegotiationTerms(
            run=run, parties=len(addresses), levels=levels, enlargement=enlargement
        )
        own = _parse_range(sys.stdin.readline() if local_range == "-" else local_range)
        place = negotiation.PartyPlace(party, addresses)
        agreed = negotiation.negotiate(place, own, terms, seconds=deadline)
    else:
        raise PlanError(
            "tacit negotiate requires --party, --parties, --range and --out, or --simulate without"
            " --party; `tacit negotiate --help` has examples"
        )
    if out is not None:
        negotiation.save(agreed, out)
    _show(agreed, out, as_json)


def _parse_range(text: str) -> tuple[float, float]:
    try:
        x_min, x_max = (float(word) for word in text.split(","))
    except ValueError:
        # A range is private, so the error does not repeat it.
        raise PlanError(
            "a range must be two numbers MIN,MAX, such as -0.31,0.28; check --range or --simulate"
        ) from None
    return x_min, x_max


def _show(agreed: Negotiated, out: Path | None, as_json: bool) -> None:
    facts = {
        "run": agreed.run,
        "parties": agreed.parties,
        "levels": agreed.levels,
        "enlargement": agreed.enlargement,
        "x_min": agreed.x_min,
        "x_max": agreed.x_max,
        "transcript_hash": agreed.transcript_hash,
    }
    if as_json:
        tables.print_json("negotiation/1", {**facts, "file": str(out) if out else None})
        return
    tables.table(
        ("agreed", ""),
        [(name.replace("_", " "), f"{value}") for name, value in facts.items()],
        prose=(0, 1),
    )
    tables.line(
        f"file: {out} (contains the secret)"
        if out
        else "This was a test: the secret was discarded."
    )
