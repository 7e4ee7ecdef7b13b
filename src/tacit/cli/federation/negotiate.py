"""tacit negotiate: agree with other parties on a range, levels and a secret, without showing one's
own range.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson
from tacit.errors import PlanError

if TYPE_CHECKING:
    from tacit.negotiation import Negotiated

Run = Annotated[
    str,
    typer.Option("--run", metavar="NAME", help="The run this is for; the same for all parties."),
]
Party = Annotated[
    int | None, typer.Option("--party", metavar="N", help="Which party this is, counted from 0.")
]
Parties = Annotated[
    str | None,
    typer.Option(
        "--parties",
        metavar="HOST:PORT,…",
        help="Where all parties listen, party 0 first; loopback only.",
    ),
]
Range = Annotated[
    str | None,
    typer.Option(
        "--range",
        metavar="MIN,MAX",
        help="This party's own range; `-` reads it from stdin, unseen by others.",
    ),
]
Simulate = Annotated[
    str | None,
    typer.Option(
        "--simulate",
        metavar="MIN,MAX;…",
        help="Start all parties here as processes, one per range: a trial.",
    ),
]
Levels = Annotated[int, typer.Option("--levels", metavar="L", help="Levels of the quantiser.")]
Enlargement = Annotated[
    float,
    typer.Option(
        "--enlargement",
        metavar="X",
        help="The range's largest absolute value, over what it is enlarged by.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Where to keep the result with its secret; readable by you alone.",
    ),
]
Deadline = Annotated[
    float, typer.Option("--deadline", metavar="SECONDS", help="Give up after this time.")
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
    """Agree on a range, levels and a secret before round one, without showing local ranges.

    Each of 3 to 7 parties starts this in a process of its own; all learn the
    least and the greatest value of all ranges and a 128-bit secret, and
    nothing else. Parties that disagree, drop out or are late end it for all.

    \b
    Examples:
      tacit negotiate --run news-1 --party 0 --range -0.31,0.28 --out agreed.json \\
        --parties 127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003
      tacit negotiate --run trial --simulate "-0.3,0.2;-0.1,0.5;-0.2,0.1"
    """
    from tacit import negotiation as room

    if out is not None:
        room.refuse_existing(out)
    if ranges is not None and party is None:
        given = [_parse_range(one) for one in ranges.split(";")]
        terms = room.NegotiationTerms(
            run=run, parties=len(given), levels=levels, enlargement=enlargement
        )
        # All parties hold the same, and proved it to each other.
        agreed = room.simulate(terms, given, seconds=deadline)[0]
    elif (
        ranges is None
        and party is not None
        and parties is not None
        and local_range is not None
        and out is not None
    ):
        addresses = room.parse_addresses(parties)
        terms = room.NegotiationTerms(
            run=run, parties=len(addresses), levels=levels, enlargement=enlargement
        )
        own = _parse_range(sys.stdin.readline() if local_range == "-" else local_range)
        agreed = room.negotiate(room.PartyPlace(party, addresses), own, terms, seconds=deadline)
    else:
        raise PlanError(
            "tacit negotiate needs --party, --parties, --range and --out together, or --simulate"
            " without --party; `tacit negotiate --help` has examples"
        )
    if out is not None:
        room.save(agreed, out)
    _show(agreed, out, as_json)


def _parse_range(text: str) -> tuple[float, float]:
    try:
        x_min, x_max = (float(word) for word in text.split(","))
    except ValueError:
        # A range is private, so the error does not repeat it.
        raise PlanError(
            "tacit negotiate needs a range as two numbers MIN,MAX, such as -0.31,0.28; check"
            " --range or --simulate"
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
        tables.print_json({**facts, "file": str(out) if out else None})
        return
    tables.table(
        ("agreed", ""),
        [(name.replace("_", " "), f"{value}") for name, value in facts.items()],
        prose=(0, 1),
    )
    tables.line(
        f"file: {out} (holds the secret)" if out else "A trial: the secret was thrown away."
    )
