"""What each command prints under `--json`, as types.

Every output begins with `"schema": "tacit/NAME/VERSION"`. A change that removes or redefines a key gets
a new version; a new key does not. A failed command adds `error`, and may then lack any other key.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypedDict

from tacit.cli.outputs import approvals, audits, ledgers, plans, runs, servers, sites


class ErrorOutput(TypedDict):
    """Why a command failed."""

    kind: str
    """A word for scripts: the class of the error."""
    message: str
    """What is wrong, then what to do."""
    exit_code: int
    """The exit code of the command."""


class Output(NamedTuple):
    """The type of an output, and the commands that print it."""

    kind: type[Any]
    printed_by: str


OUTPUTS: dict[str, Output] = {
    "abandonment/1": Output(runs.AbandonmentOutput, "resume"),
    "advice/1": Output(plans.AdviceOutput, "plan advise"),
    "backup/1": Output(sites.BackupOutput, "site backup"),
    "check/1": Output(plans.CheckOutput, "check"),
    "comparison/1": Output(runs.ComparisonOutput, "runs compare"),
    "coordinated-runs/1": Output(servers.CoordinatedRunsOutput, "server runs"),
    "data-sets/1": Output(plans.DataSetsOutput, "data list"),
    "disclosure/1": Output(plans.DisclosureOutput, "plan disclose"),
    "erasure/1": Output(ledgers.ErasureOutput, "site erase"),
    "export/1": Output(runs.ExportOutput, "export"),
    "metrics-export/1": Output(runs.MetricsExportOutput, "export-metrics"),
    "findings/1": Output(servers.FindingsOutput, "server doctor, site doctor"),
    "ledger/1": Output(ledgers.LedgerOutput, "site ledger show"),
    "ledger-client/1": Output(ledgers.LedgerClientOutput, "site ledger show"),
    "ledger-verification/1": Output(ledgers.LedgerVerificationOutput, "site ledger verify"),
    "message/1": Output(plans.MessageOutput, "plan disclose"),
    "models/1": Output(sites.ModelsOutput, "site models"),
    "negotiation/1": Output(plans.NegotiationOutput, "negotiate"),
    "papers/1": Output(plans.PapersOutput, "reproduce"),
    "peers/1": Output(sites.PeersOutput, "site peers"),
    "people/1": Output(servers.PeopleOutput, "server people"),
    "policy-check/1": Output(sites.PolicyCheckOutput, "site policy check"),
    "predictions/1": Output(runs.PredictionsOutput, "predict"),
    "privacy/1": Output(runs.PrivacyOutput, "runs privacy"),
    "reconstruction/1": Output(audits.ReconstructionOutput, "audit reconstruct"),
    "rehearsal/1": Output(servers.RehearsalOutput, "deploy rehearse"),
    "reproduction/1": Output(plans.ReproductionOutput, "reproduce"),
    "run/1": Output(runs.RunOutput, "ask, run, resume, runs show, deploy run, deploy rehearse"),
    "runs/1": Output(runs.RunsOutput, "runs list"),
    "site-check/1": Output(sites.SiteCheckOutput, "site check"),
    "site-decision/1": Output(approvals.SiteDecisionOutput, "site approve, site refuse"),
    "site-requests/1": Output(approvals.SiteRequestsOutput, "site requests"),
    "site-run/1": Output(sites.SiteRunOutput, "site status"),
    "site-status/1": Output(sites.SiteStatusOutput, "site status"),
    "sites/1": Output(servers.SitesOutput, "server sites"),
    "sweep/1": Output(plans.SweepOutput, "plan sweep"),
    "token-audit/1": Output(audits.TokenAuditOutput, "audit tokens"),
    "tuning/1": Output(plans.TuningOutput, "plan tune"),
    "verification/1": Output(runs.VerificationOutput, "runs verify"),
}
"""Every output by NAME/VERSION."""
