"""tacit plan schema: the JSON Schema of plans."""

from __future__ import annotations


def schema() -> None:
    """Print the JSON Schema of plans, for completion and key descriptions in editors.

    Save it next to your plans and make the first line of a plan
    #:schema ./plan.schema.json (Taplo; Even Better TOML in VS Code).

    \b
    Example:
      tacit plan schema > plan.schema.json
    """
    from tacit.cli.tables import write_json
    from tacit.plan.schema import schema as made

    write_json(made())
