"""The command tree: groups, the panels of their help, and the function that each command calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import typer

from tacit.cli.audit import attacks
from tacit.cli.command_group import CommandGroup
from tacit.cli.data import data_sets
from tacit.cli.deploy import rehearse
from tacit.cli.deploy import run as deploy_run
from tacit.cli.plan import advise, disclose, schema, sweep, tune
from tacit.cli.runs import runs, verify
from tacit.cli.server import certs, invite, people, start
from tacit.cli.server import doctor as server_doctor
from tacit.cli.server import ui as server_ui
from tacit.cli.site import (
    backup,
    erase,
    join,
    ledger,
    models,
    peers,
    policy,
    requests,
    status,
)
from tacit.cli.site import check as site_check
from tacit.cli.site import doctor as site_doctor
from tacit.cli.site import init as site_init
from tacit.cli.site import ui as site_ui
from tacit.cli.top import (
    ask,
    check,
    export,
    export_metrics,
    init,
    negotiate,
    predict,
    reproduce,
    run,
    ui,
)


@dataclass(frozen=True, kw_only=True)
class Branch:
    """A group of commands: its help, its commands by panel, and the command it calls if none is
    given.
    """

    help: str
    example: str
    panels: Mapping[str, Mapping[str, Callable[..., None] | Branch]]
    alone: str = ""


PLAN = Branch(
    help="Improve a plan before it runs, and see what it would send.",
    example="tacit plan tune plan.toml",
    panels={
        "Commands": {
            "advise": advise.advise,
            "tune": tune.tune,
            "sweep": sweep.sweep,
            "disclose": disclose.disclose,
            "schema": schema.schema,
        },
    },
)
RUNS = Branch(
    help="Read the records of past runs. Without a command: list the runs.",
    example="tacit runs compare newsgroups-1 newsgroups-2",
    alone="list",
    panels={
        "Commands": {
            "list": runs.list_runs,
            "show": runs.show,
            "compare": runs.compare,
            "privacy": runs.privacy,
            "verify": verify.verify,
        },
    },
)
POLICY = Branch(
    help="Write a policy, and check plans against it.",
    example="tacit site policy check policy.toml plan.toml",
    panels={"Commands": {"init": policy.init, "check": policy.check}},
)
LEDGER = Branch(
    help="Show, verify and export the privacy ledger.",
    example="tacit site ledger show ledger.db",
    panels={
        "Commands": {
            "show": ledger.show,
            "verify": ledger.verify,
            "export": ledger.export,
            "accept-loss": ledger.accept_loss,
        },
    },
)
SITE = Branch(
    help="A data owner's machine. Its policy decides what leaves it.",
    example="tacit site join hospital-a",
    panels={
        "Take part": {
            "init": site_init.init,
            "join": join.join,
            "leave": join.leave,
            "status": status.status,
            "ui": site_ui.ui,
            "doctor": site_doctor.doctor,
        },
        "Decide and account": {
            "policy": POLICY,
            "check": site_check.check,
            "requests": requests.requests,
            "approve": requests.approve,
            "refuse": requests.refuse,
            "ledger": LEDGER,
            "erase": erase.erase,
            "forget": join.forget,
        },
        "Keys of this site and of other sites": {
            "peers": peers.peers,
            "confirm": peers.confirm,
            "rekey": peers.rekey,
        },
        "Models and backups": {
            "models": models.models,
            "backup": backup.backup,
            "restore": backup.restore,
        },
    },
)
CERTS = Branch(
    help="Create and renew the server's certificate.",
    example="tacit server certs renew",
    panels={"Commands": {"create": certs.create, "renew": certs.renew}},
)
SERVER = Branch(
    help="The server that sites join. It never receives rows.",
    example="tacit server start --host 0.0.0.0 --port 8443",
    panels={
        "The server": {
            "start": start.start,
            "ui": server_ui.ui,
            "doctor": server_doctor.doctor,
            "certs": CERTS,
        },
        "Its sites and people": {
            "sites": start.sites,
            "invite": invite.invite,
            "admit": invite.admit,
            "revoke": invite.revoke,
            "restore": invite.restore,
        },
        "People on other machines": {
            "people": people.people,
            "connect": people.connect,
            "runs": people.runs,
            "record": people.record,
        },
    },
)
DEPLOY = Branch(
    help="Run a plan between sites, or rehearse that on this machine.",
    example="tacit deploy run plan.toml --min-sites 3",
    panels={
        "Commands": {"run": deploy_run.run, "stop": people.stop, "rehearse": rehearse.rehearse}
    },
)
AUDIT = Branch(
    help="Attack what clients send, to see what it reveals.",
    example="tacit audit reconstruct examples/fedvocab.toml --page audit.html",
    panels={"Commands": {"reconstruct": attacks.reconstruct, "tokens": attacks.tokens}},
)
DATA = Branch(
    help="List, download and locate named data sets.",
    example="tacit data get newsgroups20",
    panels={
        "Commands": {
            "list": data_sets.list_sets,
            "get": data_sets.get_set,
            "where": data_sets.where_set,
        },
    },
)
TREE = Branch(
    help="",
    example="",
    panels={
        "Train and use a model": {
            "init": init.init,
            "check": check.check,
            "run": run.run,
            "ask": ask.ask,
            "resume": run.resume,
            "predict": predict.predict,
            "export": export.export,
            "export-metrics": export_metrics.export_metrics,
        },
        "Plans, runs and data": {
            "plan": PLAN,
            "runs": RUNS,
            "ui": ui.ui,
            "audit": AUDIT,
            "data": DATA,
        },
        "Between machines": {
            "server": SERVER,
            "site": SITE,
            "deploy": DEPLOY,
            "negotiate": negotiate.negotiate,
        },
        "Papers": {"reproduce": reproduce.reproduce},
    },
)


def build_app(branch: Branch, **settings: Any) -> typer.Typer:
    """The Typer application of a branch, with its groups below it."""
    names = tuple(name for entries in branch.panels.values() for name in entries)
    app = typer.Typer(
        cls=type("OrderedGroup", (CommandGroup,), {"order": names, "alone": branch.alone}),
        rich_markup_mode="rich",
        **settings,
    )
    for panel, entries in branch.panels.items():
        for name, entry in entries.items():
            if isinstance(entry, Branch):
                group = build_app(entry, help=entry.help, epilog=f"Example: {entry.example}")
                app.add_typer(group, name=name, rich_help_panel=panel)
            else:
                app.command(name, rich_help_panel=panel)(entry)
    return app
