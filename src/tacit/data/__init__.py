"""Read rows, clean them, and divide them into clients. Independent of models."""

from __future__ import annotations

from tacit.data.clients.client_count import find_most_clients, require_room, require_test_rows
from tacit.data.clients.client_names import describe_similar_names, normalise_names
from tacit.data.clients.divide import (
    compute_label_shares,
    divide,
    divide_test,
    hold_out,
    list_owners,
    set_apart,
)
from tacit.data.download.fetch import Progress, fetch
from tacit.data.download.store import fetch_data_set, find_data_set
from tacit.data.load import load, resolve_columns
from tacit.data.named.catalogue import list_data_sets
from tacit.data.named.entry import NamedDataSet
from tacit.data.named.vectors import load_vectors
from tacit.data.named.weights import describe_frozen_network
from tacit.data.named.word_lists import find_word_list, load_word_list
from tacit.data.new_rows import clean_as_in_training, list_input_columns, read_new_rows
from tacit.data.public import read_public_rows, set_aside
from tacit.data.roles.guess import Guess, StarterRequest
from tacit.data.roles.guess_roles import guess_roles
from tacit.data.roles.label_leaks import find_leaks
from tacit.data.roles.roles import merge_roles
from tacit.data.roles.starter import Starter, build_starter
from tacit.data.row_reader import SiteFile
from tacit.data.table import Habits, Table

__all__ = [
    "Guess",
    "Habits",
    "NamedDataSet",
    "Progress",
    "SiteFile",
    "Starter",
    "StarterRequest",
    "Table",
    "build_starter",
    "clean_as_in_training",
    "compute_label_shares",
    "describe_frozen_network",
    "describe_similar_names",
    "divide",
    "divide_test",
    "fetch",
    "fetch_data_set",
    "find_data_set",
    "find_leaks",
    "find_most_clients",
    "find_word_list",
    "guess_roles",
    "hold_out",
    "list_data_sets",
    "list_input_columns",
    "list_owners",
    "load",
    "load_vectors",
    "load_word_list",
    "merge_roles",
    "normalise_names",
    "read_new_rows",
    "read_public_rows",
    "require_room",
    "require_test_rows",
    "resolve_columns",
    "set_apart",
    "set_aside",
]
