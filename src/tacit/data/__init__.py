"""Who holds what: read rows from a place, and divide them into clients. Knows no model."""

from __future__ import annotations

from tacit.data.client_count import most_clients, require_room, require_test_rows
from tacit.data.divide import divide, divide_test, hold_out, label_shares, owners, set_apart
from tacit.data.fetch import Progress, fetch
from tacit.data.guess import Asked, Guess
from tacit.data.guess_roles import guess_roles
from tacit.data.label_leaks import leaks
from tacit.data.load import SiteFile, columns_of, load
from tacit.data.named.entry import Entry
from tacit.data.named.vectors import vectors
from tacit.data.named.word_lists import find_word_list, word_list
from tacit.data.new_rows import as_trained, inputs_of, new_rows
from tacit.data.public import public_rows, set_aside
from tacit.data.roles import resolved
from tacit.data.starter import Starter, starter
from tacit.data.store import catalogue, get, where
from tacit.data.table import Habits, Table

__all__ = [
    "Asked",
    "Entry",
    "Guess",
    "Habits",
    "Progress",
    "SiteFile",
    "Starter",
    "Table",
    "as_trained",
    "catalogue",
    "columns_of",
    "divide",
    "divide_test",
    "fetch",
    "find_word_list",
    "get",
    "guess_roles",
    "hold_out",
    "inputs_of",
    "label_shares",
    "leaks",
    "load",
    "most_clients",
    "new_rows",
    "owners",
    "public_rows",
    "require_room",
    "require_test_rows",
    "resolved",
    "set_apart",
    "set_aside",
    "starter",
    "vectors",
    "where",
    "word_list",
]
