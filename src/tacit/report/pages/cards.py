"""Key figures at the top of the page, and the facts about data and method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.privacy.statement import prose
from tacit.report import phrasing
from tacit.report.figures import ArmFigures, Summary, compare_with_plain
from tacit.runs.record import RUN

_OF_ANSWERS = ("Source", "Clients", "Split", "Codec", "Seed", "Refused responses", "Missing sites")
"""Facts that a run with queries has in common with training."""


@dataclass(frozen=True, kw_only=True)
class FigureCard:
    """One key figure with its label and a note."""

    label: str
    figure: str
    note: str


def build_cards(run: Summary) -> list[FigureCard]:
    """Build the cards of a run; none before its first round has finished."""
    ours = run.arm(RUN)
    if ours is None:
        return []
    if run.answers:
        return [_build_answers_card(run), *_bytes(run, ours), _promise(run, ours)]
    distances = (_distance(run, ours, name) for name in ("fedavg", "central"))
    return [
        _result(run, ours),
        *(card for card in distances if card),
        *_bytes(run, ours),
        *_build_disclosed_card(run),
        *_attack(ours),
        _promise(run, ours),
    ]


def _build_answers_card(run: Summary) -> FigureCard:
    """The number of answers, and of people they are about."""
    people = run.data.clients if run.data else 0
    return FigureCard(
        label="Answers", figure=f"{len(run.answers)}", note=f"about {people:,} clients"
    )


def _result(run: Summary, ours: ArmFigures) -> FigureCard:
    lead = run.leading
    others = [name for name in ("accuracy", "auc", "f1") if name != lead and name in ours.metrics]
    also = ", ".join(
        f"{phrasing.METRICS[name]} {phrasing.format_metric(name, ours.metrics[name])}"
        for name in others
    )
    when = f"after {ours.rounds} round{'s' if ours.rounds != 1 else ''}"
    noise = ours.metrics.get("accuracy_noise", 0.0)
    noisy = (
        f"± {phrasing.format_metric('accuracy', noise)} from noise in the counts of sites"
        if noise
        else ""
    )
    label = phrasing.METRICS[lead]
    return FigureCard(
        label=label[0].upper() + label[1:],
        figure=phrasing.format_metric(lead, ours.metrics.get(lead)),
        note=", ".join(filter(None, (when, also, noisy))),
    )


def _distance(run: Summary, ours: ArmFigures, name: str) -> FigureCard | None:
    theirs, lead = run.arm(name), run.leading
    # Where a baseline was stopped early, `best` is the better of its two figures.
    best = theirs.best(lead) if theirs else None
    if best is None or lead not in ours.metrics:
        return None
    against = {"fedavg": "vs unprotected FedAvg", "central": "vs central training"}[name]
    note = f"its {phrasing.METRICS[lead]}: {phrasing.format_metric(lead, best)}"
    return FigureCard(
        label=against, figure=phrasing.format_gap(lead, ours.metrics[lead], best), note=note
    )


def _bytes(run: Summary, ours: ArmFigures) -> list[FigureCard]:
    if not ours.bytes_up:
        return []
    compared = compare_with_plain(run)
    note = ""
    if compared is not None:
        ratio, plain = compared[0], f"plain float32 ({phrasing.format_size(compared[1])})"
        if ratio > 1.05:
            note = f"{ratio:.1f}× less than {plain}"
        else:
            note = f"about as much as {plain}" if ratio > 0.95 else f"more than {plain}"
    return [
        FigureCard(
            label="Up, per client and round", figure=phrasing.format_size(ours.bytes_up), note=note
        )
    ]


def _build_disclosed_card(run: Summary) -> list[FigureCard]:
    shared = run.shared
    if shared is None:
        return []
    note = f"of {shared.of_rows:,}, in plaintext, once; {shared.rule}, k = {shared.k:,}"
    return [FigureCard(label="Rows disclosed to the server", figure=f"{shared.rows:,}", note=note)]


def _attack(ours: ArmFigures) -> list[FigureCard]:
    if "attack_success" not in ours.metrics:
        return []
    note = "of test rows with the attackers' patch are classified as the target class"
    return [
        FigureCard(
            label="Backdoor",
            figure=phrasing.format_metric("accuracy", ours.metrics["attack_success"]),
            note=note,
        )
    ]


def _promise(run: Summary, ours: ArmFigures) -> FigureCard:
    update = run.privacy.total("update")
    if update is None or not update.epsilon:
        head, _, rest = ours.privacy.partition(": ")
        return FigureCard(label="Privacy", figure=head, note=rest)
    first = prose.find_run_total([one.total for one in run.privacy.totals]) or update
    others = "; ".join(one.text for one in run.privacy.totals if one.total != first)
    if first.delta:
        others = f"delta {first.delta:g}; {others}"
    label = "Epsilon for the whole run" if first.unit == "run" else "Epsilon per update"
    return FigureCard(label=label, figure=prose.format_bound(first.epsilon or 0), note=others)


def list_facts(run: Summary) -> list[tuple[str, str]]:
    """Facts about the data and the training, as pairs of name and value."""
    if run.answers:
        return [
            (name, value)
            for name, value in (
                *_data_facts(run),
                *list_method_facts(run.plan),
                *_refusal_facts(run),
            )
            if value and name in _OF_ANSWERS
        ]
    found = [
        *_data_facts(run),
        *_sharing_facts(run),
        *_list_corrupted_facts(run),
        *_warm_facts(run),
        *list_method_facts(run.plan),
        *_refusal_facts(run),
    ]
    return [(name, value) for name, value in found if value]


def _refusal_facts(run: Summary) -> list[tuple[str, str]]:
    return [
        (
            "Refused responses",
            f"{run.refused:,}, each with its reason in the record" if run.refused else "",
        ),
        ("Missing sites", " ".join(run.absences.sentences)),
        ("Simulated network", run.network.sentence if run.network else ""),
    ]


def _data_facts(run: Summary) -> list[tuple[str, str]]:
    data = run.data
    if data is None:
        return []
    sizes, spread = data.rows_per_client, ""
    if sizes:
        spread = (
            f", {sizes[0]:,} each"
            if min(sizes) == max(sizes)
            else f", {min(sizes):,} to {max(sizes):,} each"
        )
    named = ", ".join(data.classes[:24]) + (
        f" and {len(data.classes) - 24} more" if len(data.classes) > 24 else ""
    )
    return [
        ("Source", data.source),
        ("Clients", f"{data.clients:,}"),
        ("Training rows", f"{data.rows_train:,}{spread}"),
        ("Test rows", f"{data.rows_test:,}"),
        ("Texts without words", phrasing.warn_of_wordless_texts(data.wordless, data.rows_train)),
        ("Inputs", f"{data.inputs:,}"),
        ("Parameters", f"{data.parameters:,}"),
        (f"{len(data.classes)} classes", named),
    ]


def _sharing_facts(run: Summary) -> list[tuple[str, str]]:
    """Disclosed rows and the labels on either side; a one-sided split biases both models."""
    shared = run.shared
    if shared is None:
        return []
    sides = {"disclosed": shared.labels_disclosed, "kept": shared.labels_kept}
    mixes = (f"{side} {_mix(labels)}" for side, labels in sides.items() if sum(labels.values()))
    sent, classes = (
        phrasing.format_size(sum(shared.bytes_per_client)),
        f"{shared.classes:,} equivalence classes of at least {shared.smallest_class:,} rows",
    )
    unique, single = (
        f"{100 * share:.1f} %" for share in (shared.unique_share, shared.single_label_share)
    )
    return [
        ("Disclosed rows", f"{shared.rows:,} of {shared.of_rows:,}, {sent} once, {classes}"),
        (
            "Of these",
            f"{unique} unique in all columns, {single} in equivalence classes with a single label",
        ),
        ("Labels", "; ".join(mixes)),
    ]


def _list_corrupted_facts(run: Summary) -> list[tuple[str, str]]:
    """Clients that an experiment corrupted."""
    found = run.corrupted
    if found is None:
        return []
    named = ", ".join(map(str, found.clients[:30])) + (" …" if len(found.clients) > 30 else "")
    return [
        (
            "Corrupted on purpose",
            f"{found.corruption}: clients {named}" if named else f"{found.corruption}: nobody",
        )
    ]


def _warm_facts(run: Summary) -> list[tuple[str, str]]:
    """Public rows on which the first model was trained, and its metric before round 1."""
    first, lead = run.warm, run.leading
    if first is None:
        return []
    kept = (
        f"{first.held_out:,} of them held out for validation, which chose epoch {first.epoch} of"
        f" {len(first.losses)}"
    )
    figure = f"{phrasing.METRICS[lead]} {phrasing.format_metric(lead, first.metrics.get(lead))}"
    return [
        (
            "First model",
            (f"trained centrally on {first.rows:,} public rows ({kept}); {figure} before round 1"),
        )
    ]


def _mix(labels: dict[str, int]) -> str:
    total = sum(labels.values())
    shown = sorted(labels.items(), key=lambda pair: -pair[1])[:4]
    return ", ".join(f"{name} {100 * count / total:.1f} %" for name, count in shown)


def _count(number: int, what: str) -> str:
    one = {"epochs": "epoch", "steps": "step", "batches": "batch"}
    return f"{number} {one[what] if number == 1 else what}"


def list_method_facts(plan: dict[str, Any]) -> list[tuple[str, str]]:
    """Facts about a plan's partition, model, training, codec and server, as pairs of name and
    value.
    """
    data, model, local, codec, server = (
        plan.get(table, {}) for table in ("data", "model", "local", "codec", "server")
    )
    split = str(data.get("partition", ""))
    split += f", alpha {data['alpha']:g}" if split == "dirichlet" and "alpha" in data else ""
    hidden = "-".join(str(width) for width in model.get("hidden", ()))
    trained = (
        [f"{local['optimizer']}, learning rate {local['lr']:g}"]
        if "optimizer" in local and "lr" in local
        else []
    )
    trained += [
        f"{_count(local[key], key)}" for key in ("epochs", "steps", "batches") if local.get(key)
    ]
    trained += [f"{local['batch']} rows per batch"] if local.get("batch") else []
    way = str(
        local.get("method", "")
        if plan.get("regime", "federated") == "federated"
        else plan["regime"]
    )
    coded = [prose.describe_codec(codec)]
    coded += [f"clip {codec['clip']:g}"] if codec.get("clip") else []
    coded += [f"{codec['bits']} bits"] if codec.get("bits") else []
    coded += [f"L1 clip {codec['clip_l1']:g}"] if codec.get("clip_l1") else []
    return [
        ("Split", split),
        ("Model", " ".join(filter(None, (str(model.get("name", "")), hidden)))),
        ("Local training", ", ".join([way, *trained]).strip(", ")),
        ("Codec", ", ".join(coded)),
        (
            "Server",
            (
                f"{server['optimizer']}, learning rate {server['lr']:g}, cohort"
                f" {server.get('cohort', 'all')}"
                if "optimizer" in server
                else ""
            ),
        ),
        ("Seed", str(plan.get("seed", ""))),
    ]
