"""A policy that is half understood is refused, by a sentence that says what is wrong and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.errors import PlanError
from tacit.privacy.policy.policy import ANY, _list_keys, load_policy, parse_policy
from tacit.privacy.policy.starter import render_policy

ALLOW = "models, codecs, files, disclosures, baselines, schemas, user_code, votes, negotiation, trust_server, simulation_noise"
CODECS = "plain, rr, rr_sampled, rqm, projunit, hashcomb, gaussian, dp_sum, onebit, skellam, qsgd"
MODELS = "logistic, mlp, lstm_step, embedding, lstm, bilstm, encoder, vit, statistics"
TELLS = "clients, rows, classes, ranges, exact_ranges, formats, categories, words, measures, class_counts"

WRONG = {
    '[allow]\nmodel = ["x"]': f"allow.model: unknown key; known keys are {ALLOW}. Did you mean 'models'?",
    "[alow]\nx = 1": "alow: unknown key; known keys are approve, plans, allow, columns, limits, measures, share. Did you mean 'allow'?",
    "[limits]\nno_epsilom.more = true": "limits.no_epsilom: unknown key; known keys are",
    '[allow]\ncolumns = ["a"]': (
        "allow.columns: unknown key; list columns by role in a [columns] table: label, text, numeric, …"
    ),
    "allow = 3": "allow must be a table, got 3; write [allow] and its keys below it",
    "share = 1": "share must be a table, got 1; write [share] and its keys below it",
    '[allow]\ndisclosures = ["word"]': f"allow.disclosures.0 must be one of {TELLS}; got 'word'. Did you mean 'words'?",
    '[measures]\ncounts = "loud"': "measures.counts must be one of off, noisy, exact; got 'loud'.",
    '[plans]\nhashes = ["abc"]': (
        "plans.hashes.0 must be 64 hexadecimal digits, as `tacit site policy check` prints them; got 'abc'"
    ),
    "[limits]\nmax_epsilon_per_run = 0": "limits.max_epsilon_per_run: input should be greater than 0; got 0",
    '[limits]\nmax_epsilon_per_run = "2"': "limits.max_epsilon_per_run: input should be a valid number; got '2'",
    "[limits]\nmax_rounds_per_run = 2026-01-01": "limits.max_rounds_per_run: input should be a valid integer; got '2026-01-01'",
    '[allow]\nmodels = ["logistik"]': (
        f"allow.models must be among {MODELS}, your own as package.module:name, or '*'; got 'logistik'. Did you mean 'logistic'?"
    ),
    '[allow]\ncodecs = ["gausian", "plain", "*"]': (
        f"allow.codecs must be among {CODECS}, your own as package.module:name, or '*'; got 'gausian'. Did you mean 'gaussian'?"
    ),
    '[allow]\nuser_code = ["mine.nets:Net"]': (
        "allow.user_code.0: must end in @sha256: and the SHA-256 of its file, as `tacit site policy check` prints it; got 'mine.nets:Net'"
    ),
    '[allow]\nuser_code = ["*"]': (
        "allow.user_code.0: write it as package.module:name, optionally followed by @sha256: and 64 hex digits; got '*'"
    ),
    "[allow]\nuser_code = true": "allow.user_code: input should be a valid array; got True",
    '[allow]\ncodecs = ["a.b"]': f"allow.codecs must be among {CODECS}, your own as package.module:name, or '*'; got 'a.b'.",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_said(text: str) -> None:
    with pytest.raises(PlanError) as error:
        parse_policy(text, "mine.toml")
    first, second = str(error.value).split("\n")
    assert first == "mine.toml: not a valid policy"
    assert second.startswith(f"  {WRONG[text]}")
    assert second == f"  {WRONG[text]}" or WRONG[text].endswith("known keys are")


def test_every_problem_is_named() -> None:
    with pytest.raises(PlanError) as error:
        parse_policy('[allow]\nmodels = ["logistik"]\ncodecs = ["gausian", "plian"]')
    lines = str(error.value).split("\n")
    assert lines[0] == "policy: not a valid policy"
    assert [line.split(" must")[0] for line in lines[1:]] == [
        "  allow.models",
        "  allow.codecs",
        "  allow.codecs",
    ]
    with pytest.raises(
        PlanError,
        match=r"^policy is not valid TOML: Expected '\]' at the end of a table declaration",
    ):
        parse_policy("[allow")


def test_names_that_a_plan_may_have() -> None:
    policy = parse_policy(
        '[allow]\nmodels = ["mlp", "package.module:Net", "*"]\ncodecs = ["*", "rr"]'
    )
    assert policy.allow.models == ("mlp", "package.module:Net", ANY)
    assert (ANY, policy.allow.codecs) == ("*", ("*", "rr"))


def test_keys_of_a_table() -> None:
    assert _list_keys([]) == ["approve", "plans", "allow", "columns", "limits", "measures", "share"]
    assert _list_keys(["share"]) == [
        "columns",
        "exact",
        "generalise",
        "min_k",
        "min_l",
        "max_share",
    ]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    with pytest.raises(PlanError) as error:
        load_policy(file)
    assert (
        str(error.value)
        == f"{file} cannot be read (No such file or directory); without a policy nothing is allowed; write one with `tacit site policy init`"
    )
    file.write_bytes(b"a = '\xff'")
    with pytest.raises(PlanError) as error:
        load_policy(file)
    assert str(error.value) == f"{file} is not UTF-8 text (byte 5); save it as UTF-8"
    file.write_bytes('[columns]\nlabel = ["größe"]'.encode())
    assert load_policy(file).columns.label == ("größe",)
    file.write_text("[alow]", encoding="utf-8")
    with pytest.raises(PlanError, match=f"^{file}: not a valid policy"):
        load_policy(file)


def test_the_share_table_to_uncomment_is_a_policy() -> None:
    """Each line of the commented table is one key: removing its first two characters allows rows."""
    text = render_policy("policy.toml")
    start = text.index("# [share]")
    lines = text[start:].strip().splitlines()
    assert all(line.startswith("# ") and len(line) <= 100 for line in lines)
    share = parse_policy("\n".join(line[2:] for line in lines)).share
    assert share is not None
    assert share.columns == ("age", "outcome")
    assert share.generalise == {"age": ("ranges 10",)}
    assert (share.exact, share.min_k, share.min_l, share.max_share) == ((), 50, 2, 0.5)
