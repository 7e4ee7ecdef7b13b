"""Made-up tables: twenty with personal data in varied languages and forms, twenty without it that look tempting.

Every table has a label `y` (or another word for it) and a number `x`; people stand in several rows each unless `rows_each` is 1.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

PEOPLE, EACH = 40, 20


class Made(NamedTuple):
    """A table, its columns of personal data, and the column that says who owns a row, if one does."""

    frame: pl.DataFrame
    personal: tuple[str, ...]
    owner: str | None = None


GIVEN = ("Anna", "Peter", "Sofia", "Jonas", "Maria", "Lukas", "Julia", "Felix", "Laura", "Paul")
FAMILY = (
    "Müller",
    "Smith",
    "García",
    "Rossi",
    "Novak",
    "Dupont",
    "Silva",
    "Jansen",
    "Weber",
    "Olsen",
)
RUSSIAN = (
    "Иванов Иван",
    "Петрова Ольга",
    "Сидоров Пётр",
    "Кузнецова Анна",
    "Смирнов Олег",
    "Попова Елена",
    "Волков Денис",
)
HAN = tuple(
    family + given for family in "王李张刘陈杨赵黄" for given in ("伟", "芳", "小明", "秀英", "静")
)
STREETS = ("Hauptstraße", "Lindenallee", "Bahnhofstr.", "Am Mühlenweg", "Rosengasse")
MOODS = ("gut", "schlecht")


def name(k: int) -> str:
    return f"{GIVEN[k % 10]} {FAMILY[(k // 10 + k) % 10]}"


def table(
    columns: dict[str, Sequence[object] | Callable[[int], object]],
    *,
    label: str = "y",
    each: int = EACH,
) -> pl.DataFrame:
    """A table of people, each with so many rows; a function gives a person's cell, a sequence is dealt row by row."""
    count = PEOPLE * each if each > 1 else PEOPLE * EACH
    draws = np.random.default_rng(5)
    who = np.arange(count) % (PEOPLE if each > 1 else count)
    cells: dict[str, list[object]] = {}
    for column, made in columns.items():
        cells[column] = [
            made(int(k)) if callable(made) else made[int(draws.integers(len(made)))] for k in who
        ]
    cells["x"] = list(draws.normal(size=count).round(3))
    cells[label] = [("no", "yes")[k] for k in draws.integers(2, size=count)]
    return pl.DataFrame(cells)


def luhn(k: int) -> str:
    digits = f"4{10**13 + 7919 * k:014d}"
    total = sum(int(d) if at % 2 else sum(divmod(2 * int(d), 10)) for at, d in enumerate(digits))
    return digits + str(-total % 10)


def iban(k: int) -> str:
    account = f"37040044{532013000 + 37 * k:010d}"
    return f"DE{98 - int(account + '131400') % 97:02d}{account}"


def cpf(k: int) -> str:
    digits = f"{123456789 + 1117 * k:09d}"
    for _ in range(2):
        digits += str(
            sum(int(d) * w for d, w in zip(digits, range(len(digits) + 1, 1, -1), strict=True))
            * 10
            % 11
            % 10
        )
    return f"{digits[:3]}.{digits[3:6]}.{digits[6:9]}-{digits[9:]}"


def dni(k: int) -> str:
    number = 10_000_000 + 7919 * k
    return f"{number}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


WITH: dict[str, Made] = {
    "e-mail beside a German customer": Made(
        table({"email": lambda k: f"kunde{k}.mail@web{k % 3}.de", "Kunde": name}), ("email", "Kunde"), "Kunde"),
    "e-mail under a plain name": Made(table({"col_a": lambda k: f"{GIVEN[k % 10].lower()}.{k}@mail.org"}), ("col_a",), "col_a"),
    "telephone numbers": Made(table({"Rückruf": lambda k: f"+49 170 {1000000 + 991 * k}"}), ("Rückruf",), "Rückruf"),
    "American telephones, one row each": Made(
        table({"contact": lambda k: f"({200 + k % 700}) 555-{1000 + k}"}, each=1), ("contact",)),
    "IBANs": Made(table({"compte": iban}), ("compte",), "compte"),
    "card numbers as integers": Made(table({"c7": lambda k: int(luhn(k))}), ("c7",), "c7"),
    "social security numbers": Made(table({"field": lambda k: f"{100 + k}-{10 + k}-{1000 + 7 * k}"}), ("field",), "field"),
    "Brazilian CPF": Made(table({"documento": cpf}), ("documento",), "documento"),
    "Spanish DNI": Made(table({"documento": dni, "provincia": ["Sevilla", "Madrid", "Lugo"]}), ("documento",), "documento"),
    "IP addresses": Made(table({"origin": lambda k: f"192.168.{k}.{3 * k + 1}"}), ("origin",), "origin"),
    "MAC addresses": Made(table({"hw": lambda k: f"00:1b:44:11:{k:02x}:b7"}), ("hw",), "hw"),
    "profiles": Made(table({"link": lambda k: f"https://www.instagram.com/user.{k}"}), ("link",), "link"),
    "Latin names under a Russian word": Made(table({"покупатель": name}), ("покупатель",), "покупатель"),
    "Russian names": Made(table({"кто": lambda k: RUSSIAN[k % 7] + "а" * (k // 7)}), ("кто",), "кто"),
    "Chinese names": Made(table({"姓名": lambda k: HAN[k]}, label="标签"), ("姓名",), "姓名"),
    "German addresses": Made(
        table({"anschrift": lambda k: f"{STREETS[k % 5]} {k + 1}, {10115 + k} Berlin"}), ("anschrift",)),
    "English addresses beside a patient": Made(
        table({"patient_id": lambda k: 5000 + 17 * k, "home": lambda k: f"{k + 1} {FAMILY[k % 10]} Street"}),
        ("patient_id", "home"), "patient_id"),
    "UUIDs": Made(table({"ref": lambda k: str(uuid.UUID(int=10**37 + k * 10**30))}), ("ref",), "ref"),
    "hashes": Made(table({"h": lambda k: hashlib.sha256(str(k).encode()).hexdigest()}), ("h",), "h"),
    "first names and birth dates in French": Made(
        table({"prénom": lambda k: f"{GIVEN[k % 10]}{'abcdef'[k // 10]}", "naissance": lambda k: f"19{50 + k}-0{1 + k % 9}-11"}),
        ("prénom", "naissance"), "prénom"),
}  # fmt: skip

WITHOUT: dict[str, Made] = {
    title: Made(table({column: values}), ())
    for title, column, values in (
        (
            "countries",
            "country",
            [
                "Germany",
                "France",
                "United States",
                "United Kingdom",
                "New Zealand",
                "Jordan",
                "Chad",
            ],
        ),
        (
            "cities",
            "city",
            [
                "San Francisco",
                "San Jose",
                "Paris",
                "Charlotte",
                "Austin",
                "Sofia",
                "Florence",
                "Victoria",
            ],
        ),
        (
            "German cities",
            "Ort",
            ["Bad Homburg", "Berlin", "Sankt Augustin", "Köln", "Frankfurt am Main"],
        ),
        ("product codes", "sku", ["AB-1234", "AB-9931", "CX-2222", "CX-0001", "DK-4711"]),
        ("ICD codes", "diag_code", ["I10", "E11.9", "J45.0", "M54.5", "F32.1", "Z00.0"]),
        ("months", "month", ["April", "May", "June", "August", "January", "March"]),
        ("colours", "colour", ["rose", "violet", "olive", "ruby", "amber", "red", "blue"]),
        (
            "brands",
            "brand",
            ["Calvin Klein", "Hugo Boss", "Tommy Hilfiger", "Ralph Lauren", "Paul Smith"],
        ),
        ("consent to e-mail", "email", ["yes", "no"]),
        ("models of telephones", "phone", ["iPhone 14", "Galaxy S22", "Pixel 7"]),
        ("versions", "version", ["1.2.3.4", "1.2.4.0", "2.0.0.1"]),
        ("segments of customers", "customer_segment", ["gold", "silver", "bronze"]),
        (
            "Chinese colours",
            "颜色",
            ["白色", "黄色", "红色", "蓝色", "黑色", "金色", "白灰", "黄绿"],
        ),
        ("Chinese cities", "城市", ["北京", "上海", "广州", "深圳", "成都", "武汉"]),
        ("weekdays", "Wochentag", ["Montag", "Dienstag", "Freitag", "Sonntag"]),
        ("jobs", "occupation", ["Sales Manager", "Nurse", "Truck Driver", "Software Engineer"]),
        ("ranges", "age_group", ["18-25", "26-40", "41-65", "65+"]),
        ("genres", "genre", ["Science Fiction", "Drama", "Romance", "Film Noir"]),
        ("kinds of address", "address_type", ["home", "work", "post box"]),
        ("drugs", "medication", ["Aspirin 100", "Metformin 500", "Ibuprofen 400", "Vitamin D"]),
    )
}
