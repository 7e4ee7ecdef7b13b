"""Pages of commands, one per group, written from the command tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tacit.cli import app
from tacit.cli.help_text import build_command
from tacit.cli.outputs import OUTPUTS

TOP = "tacit"
SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z`-])")
EXAMPLES = re.compile(r"^Examples?:\s*")


def write_pages() -> dict[str, str]:
    """A page for the commands on top, one per group, and their index."""
    tree = build_command(app)
    groups = dict(_list_groups(tree, TOP))
    pages = {_name_page(path): _write_group(path, group) for path, group in groups.items()}
    pages["index.md"] = _write_index(groups)
    return pages


def _list_groups(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    yield path, group
    for name, child in group.commands.items():
        if hasattr(child, "commands"):
            yield from _list_groups(child, f"{path} {name}")


def _name_page(path: str) -> str:
    words = path.split()[1:] or ["tacit"]
    return f"{'-'.join(words)}.md"


def _write_index(groups: dict[str, Any]) -> str:
    lines = [
        "# Commands\n\nEvery command has `--help`, with examples; every group has a page here. `tacit --version` prints the version. `--debug`",
        "before or after a command shows the traceback of an error. [Exit codes](../exit-codes.md) are the same for all commands.\n",
    ]
    for path, group in groups.items():
        title = "Commands on top" if path == TOP else f"`{path}`"
        lines.append(f"- [{title}]({_name_page(path)}): {', '.join(_list_names(group))}")
    return "\n".join(lines) + "\n"


def _list_names(group: Any) -> list[str]:
    return [f"`{name}`" for name, child in group.commands.items() if not hasattr(child, "commands")]


def _write_group(path: str, group: Any) -> str:
    title = "Commands on top" if path == TOP else f"`{path}`"
    text, _ = _split_help(group.help or "")
    lines = [f"# {title}\n", _first(text) if path == TOP else text, ""]
    for name, child in group.commands.items():
        if not hasattr(child, "commands"):
            lines.append(_write_command(f"{path} {name}", child))
    return "\n".join(lines)


def _write_command(path: str, command: Any) -> str:
    text, examples = _split_help(command.help or "")
    context = command.context_class(command, info_name=path)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    records = [
        parameter.get_help_record(context)
        for parameter in command.get_params(context)
        if "--help" not in parameter.opts
    ]
    listed = [
        f"- `{' '.join(record[0].split())}`: {_escape(record[1])}" for record in records if record
    ]
    parts = [f"## `{path}`", text, f"```text\n{usage}\n```", "\n".join(listed)]
    if printed := [
        f"[`tacit/{name}`](../json/{name.partition('/')[0]}.json)"
        for name, output in OUTPUTS.items()
        if path.removeprefix(f"{TOP} ") in output.printed_by.split(", ")
    ]:
        parts.append(f"Output under `--json`: {' or '.join(printed)}.")
    if examples:
        parts.append(f"```sh\n{examples}\n```")
    return "\n\n".join(parts) + "\n"


def _split_help(text: str) -> tuple[str, str]:
    """The paragraphs of a help text, and the lines of its examples."""
    paragraphs, examples = list[str](), list[str]()
    for block in re.split(r"\n\s*\n", _plain(text).strip()):
        block = block.replace("\b\n", "").strip("\b\n")
        if EXAMPLES.match(block):
            examples = [line.strip() for line in EXAMPLES.sub("", block).splitlines()]
        else:
            paragraphs.append(_escape(block))
    return "\n\n".join(paragraphs), "\n".join(line for line in examples if line)


def _first(text: str) -> str:
    return SENTENCE.split(text, maxsplit=1)[0]


def _plain(text: str) -> str:
    r"""Help without the backslashes that keep brackets from being read as markup."""
    return text.replace("\\[", "[")


def _escape(text: str) -> str:
    """Text whose angle brackets are no HTML, outside of code."""
    pieces = re.split(r"(`[^`]*`)", " ".join(_plain(text).split()))
    pieces[::2] = [piece.replace("<", "&lt;") for piece in pieces[::2]]
    return "".join(pieces)
