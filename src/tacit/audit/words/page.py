"""The reconstruction audit as one page that needs no network: tables of what each attacker
recovered, and texts side by side.
"""

from __future__ import annotations

from html import escape

from tacit.audit.page_frame import format_list, frame_page
from tacit.audit.words.reconstruct import (
    ATTACKERS,
    BASELINE,
    GRADIENT,
    TextExample,
    WordAudit,
    WordAuditLine,
)

_READABLE, _SAFE = 0.2, 0.05


def render_page(audit: WordAudit) -> str:
    """Render the page as HTML."""
    shown = (
        [
            "<h2>Side by side</h2><p>Marked words were read.</p>",
            *map(_example, _some(audit.examples)),
        ]
        if audit.examples
        else []
    )
    return frame_page(
        "Reconstruction audit",
        "<h1>Can the server read a client's words?</h1>",
        f"<p>{escape(audit.source)} Client {audit.client}, {audit.texts} of its texts with numbers "
        "in them, second round. Each figure is the share of a text's words that an attacker names "
        f"(recall, counted as multisets), by the better of its methods: {_ways(audit)}. The number of "
        "words of a text is assumed to be known.</p>",
        format_list(write_sentences(audit)),
        "<h2>One text at a time</h2>",
        _grid([line for line in audit.lines if line.batch == 1]),
        "<h2>Larger batches, true gradient</h2>",
        _grid([line for line in audit.lines if line.seen == GRADIENT], by_batch=True),
        "<h2>Numbers in the texts</h2><p>The share of tokens with a digit that were read (the "
        "paper's private tokens).</p>",
        _grid([line for line in audit.lines if line.batch == 1], figure="digits"),
        *shown,
    )


def write_sentences(audit: WordAudit) -> list[str]:
    """Describe in sentences which setting protects against which attacker."""
    guessed = max(
        line.score.recall for line in audit.lines if line.attacker == BASELINE and line.batch == 1
    )
    found = [
        _control(audit),
        "An attacker without a message who guesses the most frequent words is right for "
        f"{guessed:.0%}.",
    ]
    for setting in dict.fromkeys(line.setting for line in audit.lines):
        mine = [line for line in audit.lines if line.setting == setting and line.batch == 1]
        clear = [line for line in mine if "bit" not in line.seen and line.attacker != BASELINE]
        readers = sorted(
            {line.attacker for line in clear if line.score.recall > max(_READABLE, guessed)}
        )
        whom = f"is read by: {', '.join(readers)}" if readers else "is read by none of the four"
        after = "".join(
            f"; {seen}: at most {share:.0%}" for seen, share in _through_bits(mine).items()
        )
        found.append(f"{setting}: in the clear {whom}{after}.")
    found.append(
        "Only the client knows its private table: that column shows what could be read if the "
        "table leaked."
    )
    found.append(
        "From randomised bits the adaptive attacker recovers only the most frequent words."
    )
    return found


def _through_bits(lines: list[WordAuditLine]) -> dict[str, float]:
    """Largest recall of any attacker with a dictionary, by randomised view."""
    found: dict[str, float] = {}
    for line in lines:
        if "bit" in line.seen and line.attacker not in (BASELINE, "adaptive"):
            found[line.seen] = max(found.get(line.seen, 0.0), line.score.recall)
    return found


def _control(audit: WordAudit) -> str:
    control = next(
        line for line in audit.lines if line.attacker == ATTACKERS[0] and line.batch == 1
    )
    works = (
        "the attack works"
        if control.score.recall >= 0.8
        else "the attack itself is weak here, so low figures prove little"
    )
    return (
        "Positive control: an attacker who knows the shared table reads"
        f" {control.score.recall:.0%}; {works}."
    )


def _ways(audit: WordAudit) -> str:
    span = "words inside the span of the first layer's gradient"
    return (
        span
        if not audit.search_steps
        else (
            f"{span}, or a search for vectors that give the same gradient ({audit.search_steps}"
            " steps)"
        )
    )


def _grid(lines: list[WordAuditLine], by_batch: bool = False, figure: str = "recall") -> str:
    head = "".join(f"<th class='number'>{attacker}</th>" for attacker in ATTACKERS)
    groups: dict[str, dict[str, dict[str, WordAuditLine]]] = {}
    for line in lines:
        seen = f"batch {line.batch}" if by_batch else line.seen
        groups.setdefault(line.setting, {}).setdefault(seen, {})[line.attacker] = line
    body = "".join(_group(setting, rows, figure) for setting, rows in groups.items())
    return (
        "<div class='wide'><table><tr><th>setting</th><th>what is"
        f" seen</th>{head}</tr>{body}</table></div>"
    )


def _group(setting: str, rows: dict[str, dict[str, WordAuditLine]], figure: str) -> str:
    """Format the rows of one setting, which is named in the first row."""
    drawn = []
    for place, (seen, found) in enumerate(rows.items()):
        within = " class='within'" if place < len(rows) - 1 else ""
        cells = "".join(_cell(found.get(attacker), figure) for attacker in ATTACKERS)
        name = escape(setting) if place == 0 else ""
        drawn.append(
            f"<tr{within}><td class='name'>{name}</td><td"
            f" class='name'>{escape(seen)}</td>{cells}</tr>"
        )
    return "".join(drawn)


def _cell(line: WordAuditLine | None, figure: str) -> str:
    if line is None:
        return "<td></td>"
    value: float = getattr(line.score, figure)
    mark = "bad" if value > _READABLE else "good" if value <= _SAFE else ""
    return f"<td class='number {mark}'>{value:.0%}</td>"


def _some(examples: tuple[TextExample, ...]) -> list[TextExample]:
    return [example for place, example in enumerate(examples) if place % 3 == 0]


def _example(example: TextExample) -> str:
    rows = "".join(
        "<tr><th"
        f" class='who'>{attacker}</th><td>{_mark_hits(example.recovered[attacker], example.original)}</td></tr>"
        for attacker in ATTACKERS
    )
    original = escape(" ".join(example.original))
    return (
        f"<h3>{escape(example.setting)} <span class='soft'>({escape(example.seen)})</span></h3><div"
        " class='wide'><table><tr><th"
        f" class='who'>original</th><td>{original}</td></tr>{rows}</table></div>"
    )


def _mark_hits(guess: list[str], original: list[str]) -> str:
    left, parts = list(original), []
    for word in guess:
        if word in left:
            left.remove(word)
            parts.append(f"<span class='read'>{escape(word)}</span>")
        else:
            parts.append(escape(word))
    return " ".join(parts) or "<span class='soft'>nothing</span>"
