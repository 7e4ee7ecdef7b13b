"""TensorBoard: a folder of event files per run, with one folder below it per arm."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import DiskError
from tacit.files import replace_file
from tacit.tracking.figures import FigureBatch, clean_name
from tacit.tracking.tracker import RunLabel

if TYPE_CHECKING:
    from tensorboardX import SummaryWriter

_OWNER = "tacit-run"
"""File with the identity of the run that a folder belongs to."""
_SUFFIX = ".tacit"
_SETTINGS_ARM = "run"


class TensorBoardTracker:
    """Writes event files below a folder. Arms of a run are curves of the same charts."""

    def __init__(self, place: str) -> None:
        self._root = Path(place).expanduser()
        try:
            self._root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DiskError(
                f"--log tensorboard:{place}: the folder cannot be created ({error.strerror}); name"
                " another one"
            ) from None
        self._folder = self._root
        self._writers: dict[str, SummaryWriter] = {}

    def begin(self, label: RunLabel, past: FigureBatch) -> None:
        """Write event files anew, then remove those that were written of this run before."""
        self._close_writers()
        self._folder = _find_folder(self._root, label)
        earlier = list(self._folder.glob(f"*/events.out.tfevents.*{_SUFFIX}"))
        self.write(past)
        for path in earlier:
            path.unlink(missing_ok=True)

    def write(self, batch: FigureBatch) -> None:
        """Write figures as scalars, settings as a table and texts as texts."""
        for figure in batch.figures:
            self._writer(figure.arm).add_scalar(figure.name, figure.value, figure.round_no)
        texts = dict(batch.texts)
        if batch.settings:
            texts["settings"] = _format_table(batch.settings)
        for name, text in texts.items():
            self._writer(_SETTINGS_ARM).add_text(
                name, _escape(text) if name != "settings" else text
            )
        for writer in self._writers.values():
            writer.flush()

    def close(self, *, is_finished: bool) -> None:
        """Close all files."""
        self._close_writers()

    def _close_writers(self) -> None:
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def _writer(self, arm: str) -> SummaryWriter:
        from tensorboardX import SummaryWriter

        if arm not in self._writers:
            unique = f".{os.urandom(4).hex()}{_SUFFIX}"
            self._writers[arm] = SummaryWriter(
                str(self._folder / arm), purge_step=0, filename_suffix=unique
            )
        return self._writers[arm]


def _find_folder(root: Path, label: RunLabel) -> Path:
    """The folder of a run; its name has a part of the identity if another run has the name."""
    name = clean_name(label.name)
    for folder in (root / name, root / f"{name}-{label.identity[:8]}"):
        owner = folder / _OWNER
        if not folder.exists():
            folder.mkdir(parents=True)
            replace_file(owner, label.identity.encode())
        if owner.is_file() and owner.read_text(errors="replace") == label.identity:
            return folder
    raise DiskError(f"{root}: {name} belongs to other runs; name another folder")


def _format_table(settings: dict[str, str]) -> str:
    rows = (f"| {_escape(name)} | {_escape(value)} |" for name, value in settings.items())
    return "\n".join(["| setting | value |", "| --- | --- |", *rows])


def _escape(text: str) -> str:
    """Escape what TensorBoard would render as Markdown or HTML."""
    plain = "".join(f"\\{one}" if one in "\\`*_{}[]()#+-.!|~" else one for one in text)
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace("\n", "  \n")
