"""tacit schema: the JSON Schema of plans."""

from __future__ import annotations


def schema() -> None:
    """Print the JSON Schema of plans, with which editors complete keys and show their meaning.

    Keep it beside your plans and make the first line of a plan
    #:schema ./plan.schema.json (Taplo; Even Better TOML in VS Code).

    \b
    Example:
      tacit schema > plan.schema.json
    """
    from tacit.cli.tables import print_json
    from tacit.plan.schema import schema as made

    print_json(made())
