"""tacit site erase: rows of one client are used no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson, SiteFolder, Yes
from tacit.cli.site.ledger import describe_account
from tacit.errors import RunError

if TYPE_CHECKING:
    from tacit.deployment.upkeep.erasure import ErasurePlan


def erase(
    folder: SiteFolder,
    client: Annotated[
        str, typer.Argument(metavar="ID", help="The client's id, as it stands in your file.")
    ],
    yes: Yes = False,
    ahead: Annotated[
        bool,
        typer.Option(
            "--ahead",
            help="Also erase an id that is not known here, so that later rows of it are left out.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Erase a client: its rows are used no more.

    Its private parts are deleted. Charges stay, and the erasure becomes an
    entry of the ledger, under a pseudonym. In runs under way the client responds no more. Models that
    were trained before keep what they learned; the command says in which
    runs. It cannot be undone. Your own file of rows is not changed.
    Exit code 1 if neither your file nor the ledger has the id.

    \b
    Examples:
      tacit site erase hospital-a p0042
      tacit site erase hospital-a p0999 --ahead
    """
    from tacit.cli.exit_codes import Missed
    from tacit.deployment.upkeep.erasure import erase_client, prepare_erasure
    from tacit.deployment.upkeep.find_client import describe_unknown

    plan = prepare_erasure(folder, client)
    if not ahead and (unknown := describe_unknown(plan.client, plan.account)):
        raise Missed(
            f"{folder}: {unknown}; with --ahead it is erased all the same. Nothing was changed"
        )
    if not as_json:
        for sentence in _describe(plan):
            tables.say(sentence)
    if not yes and not typer.confirm("Erase this client?", err=True):
        raise RunError(f"{folder}: nothing was changed")
    runs = erase_client(plan)
    if as_json:
        facts = {
            "rows_in_file": plan.client.rows,
            "similar_ids_in_file": plan.client.similar,
            "was_erased_before": plan.account.erased_on is not None,
            "runs_that_received_statistics": list(plan.told),
            "open_runs": list(plan.open_runs),
            "runs_with_deleted_parts": runs,
        }
        account = describe_account(plan.client.pseudonym, plan.owner.unit, plan.account)
        tables.print_json("erasure/1", {**account, **facts})
        return
    tables.line(f"{folder}: erased; private parts were deleted in {_count(runs, 'run')}")


def _describe(plan: ErasurePlan) -> list[str]:
    """What the erasure of a client does and what it cannot undo."""
    from tacit.deployment.upkeep.find_client import describe_unknown

    rows, account, similar = plan.client.rows, plan.account, plan.client.similar
    if describe_unknown(plan.client, account):
        said = ["This id is not known here; it will be left out if rows of it ever appear."]
    else:
        found = {
            None: "The file of rows cannot be read, so rows of this id were not counted",
            0: "No row of your file has this id, but the ledger knows it",
            1: "1 row of your file has this id",
        }.get(rows, f"{rows or 0:,} rows of your file have this id")
        said = [f"{found}. The client takes no part in any run that is offered from now on."]
    if similar:
        said.append(
            f"{_count(similar, 'other id')} of your file {'differs' if similar == 1 else 'differ'}"
            " from this one only in case, leading zeros or a decimal point. Each is a client of its"
            " own: if it is the same person, erase it too."
        )
    if account.erased_on:
        said.append(f"This client was erased on {account.erased_on}.")
    if plan.open_runs:
        said.append(
            f"Under way: {', '.join(plan.open_runs)}. There the client responds no more, except in"
            " a response that is being computed now. Statistics and numbers of clients that these"
            " runs received before stay as they are. Delete the rows from your file only after"
            " these runs have ended."
        )
    if plan.told:
        said.append(
            "Statistics of columns and numbers of clients were sent, possibly with this client's"
            f" rows, to: {', '.join(plan.told)}."
        )
    if account.released_rows:
        said.append(
            f"Rows of this client that were disclosed: {account.released_rows:,}. They cannot be"
            " recalled."
        )
    if not account.runs:
        return [*said, "The ledger has no charge for this client, so no model was trained on it."]
    used = ", ".join(account.runs)
    bare = [run for run, one in account.runs.items() if one.cost.bare]
    said.append(
        f"Runs that used this client's rows: {used}. Their models keep what they learned from the"
        " client; `tacit site ledger show --client-id` prints the epsilon per run that bounds it."
    )
    if bare:
        said.append(
            f"No epsilon bounds it in {', '.join(bare)}: ask the operator of the server to train"
            " these models again."
        )
    return said


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
