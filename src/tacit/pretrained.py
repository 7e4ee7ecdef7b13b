"""Loads pretrained networks from a folder, as `transformers` saves them: as data, and without
output on the screen.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any


def find_package_folder(inside: str) -> Path | None:
    """The folder `package/folder` of an installed package, which is not imported; None if it is not
    installed.
    """
    name, _, rest = inside.partition("/")
    found = find_spec(name)
    places = found.submodule_search_locations if found else None
    return Path(places[0]) / rest if places else None


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
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call] # a lacking pooling layer is not used
    try:
        return AutoModel.from_pretrained(
            str(folder),
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            **settings,
        )
    finally:
        logging.set_verbosity(verbosity)
        if shows_bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]
