"""Loads pretrained networks from a folder, as `transformers` saves them: as data, and without
output on the screen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def load_network(folder: Path, **settings: Any) -> Any:
    """Load the folder's network. None of its code is run, no pickled weights are opened, and
    nothing is downloaded.

    Raises what `transformers` raises, OSError or ValueError, if it cannot be loaded.
    """
    from transformers import AutoModel
    from transformers.utils import logging

    shows_bars = (
        logging.is_progress_bar_enabled()
    )  # loading is quick, and each of many processes would draw a bar
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        return AutoModel.from_pretrained(
            str(folder),
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            **settings,
        )
    finally:
        if shows_bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]
