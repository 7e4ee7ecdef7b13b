"""Personal data in a second set of tables, written before anything was known of the rules: nothing of it becomes a category.

Twenty tables hold personal data, twenty only look like it, fifteen have owners under odd names; twenty end in amounts or classes.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import polars as pl
import pytest

from tacit.data.roles.guess_roles import ColumnStudy, study_columns
from tacit.errors import DataError

ROWS = 320
Maker = Callable[["Rng"], object]
Value = TypeVar("Value")
KINDS = {
    "9": "0123456789",
    "A": "ABCDEFGHJKLMNPRSTUVWXYZ",
    "x": "0123456789abcdef",
    "X": "0123456789ABCDEF",
}
FIRST = (
    "Ilse|Marek|Aoife|Thandiwe|Jorge|Yuki|Priya|Søren|Fatima|Luca|Chiara|Piotr|Ewa|Noor|Emre|Linnéa|Kwame|Ana|Tomáš|Élodie|Hugo|"
    "Ingrid|Rashid|Mei"
)
LAST = (
    "Vogel|Kowalczyk|Byrne|Dlamini|Herrera|Tanaka|Iyer|Nygaard|Haddad|Moretti|Ferraro|Zieliński|Nowak|de"
    " Boer|Yıldız|Lindqvist|Mensah|Pereira|Dvořák|Lefèvre|Girard|Solberg|Khan|Chen"
)
GERMAN = "Hauptstraße|Lindenweg|Bahnhofstr.|Am Markt|Gartenstraße|Schulgasse|Rosenweg|Kirchplatz"
FRENCH = "rue de la Paix|avenue Foch|boulevard Voltaire|impasse des Lilas|place du Marché"
POLISH = "ul. Mickiewicza|ul. Długa|al. Jana Pawła II|os. Słoneczne|ul. Polna"


class Rng:
    """Draws that follow from a text."""

    def __init__(self, text: str) -> None:
        self._draws = np.random.default_rng(zlib.crc32(text.encode()))

    def choice(self, pool: Sequence[Value]) -> Value:
        return pool[int(self._draws.integers(len(pool)))]

    def randint(self, low: int, high: int) -> int:
        return int(self._draws.integers(low, high + 1))

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        return float(self._draws.uniform(low, high))


def form(pattern: str) -> Maker:
    """Values of a form: 9 is a digit, A a capital, x a hexadecimal digit."""
    return lambda rng: "".join(rng.choice(KINDS.get(letter, letter)) for letter in pattern)


def word(words: str) -> Maker:
    return lambda rng: rng.choice(words.split("|"))


def number(low: float, high: float, digits: int = 0) -> Maker:
    return lambda rng: (
        round(rng.uniform(low, high), digits) if digits else rng.randint(int(low), int(high))
    )


def name(joined: str) -> Maker:
    return lambda rng: joined.format(f=word(FIRST)(rng), l=word(LAST)(rng))


def email(rng: Rng) -> str:
    plain = str(name("{f}.{l}")(rng)).lower().replace(" ", "").encode("ascii", "ignore").decode()
    return f"{plain}{rng.randint(1, 99)}@{word('gmx.de|orange.fr|uni-x.edu|firma.example.pl|mail.co.uk')(rng)}"


def luhn(prefix: str, length: int) -> Maker:
    def make(rng: Rng) -> str:
        body = prefix + "".join(rng.choice("0123456789") for _ in range(length - len(prefix) - 1))
        total = sum(
            int(d) if at % 2 else sum(divmod(2 * int(d), 10)) for at, d in enumerate(reversed(body))
        )
        return body + str(-total % 10)

    return make


def card(rng: Rng) -> str:
    digits = str(luhn("4", 16)(rng))
    return " ".join(digits[at : at + 4] for at in range(0, 16, 4))


def iban(rng: Rng) -> str:
    country, bank, size = rng.choice([("DE", "", 18), ("NL", "ABNA", 10), ("FR", "", 23)])
    account = bank + "".join(rng.choice("0123456789") for _ in range(size))
    return f"{country}{98 - int(''.join(str(int(letter, 36)) for letter in account + country + '00')) % 97:02d}{account}"


def finnish(rng: Rng) -> str:
    day, serial = (
        f"{rng.randint(1, 28):02d}{rng.randint(1, 12):02d}{rng.randint(30, 99)}",
        f"{rng.randint(2, 899):03d}",
    )
    return f"{day}-{serial}{'0123456789ABCDEFHJKLMNPRSTUVWXY'[int(day + serial) % 31]}"


def italian(rng: Rng) -> str:
    return f"{form('AAAAAA99')(rng)}{rng.choice('ABCDEHLMPRST')}{form('99A999A')(rng)}"


def birth(written: str) -> Maker:
    return lambda rng: written.format(
        y=rng.randint(1935, 2012), m=rng.randint(1, 12), d=rng.randint(1, 28)
    )


def address(written: str, streets: str) -> Maker:
    return lambda rng: written.format(s=word(streets)(rng), n=rng.randint(1, 180))


def handle(rng: Rng) -> str:
    return f"{word(FIRST)(rng)}{rng.choice(['_', '.', '', 'x'])}{word('77|fan|live|99|pt|dev')(rng)}{rng.randint(0, 99)}".lower()


def ip(rng: Rng) -> str:
    return ".".join(str(rng.randint(1, 254)) for _ in range(4))


def digest(rng: Rng) -> str:
    return hashlib.sha256(str(rng.uniform()).encode()).hexdigest()[:32]


class Drawn(NamedTuple):
    """How a column's values are made, of how many people (0: another in each row), and which share is missing."""

    make: Maker
    people: int = 0
    missing: float = 0.0

    def column(self, rng: Rng, people: int | None = None) -> list[object]:
        pool = [self.make(rng) for _ in range(people or self.people)] if self.people else []
        made = [rng.choice(pool) if pool else self.make(rng) for _ in range(ROWS)]
        return [None if rng.uniform() < self.missing else value for value in made]


Columns = dict[str, Drawn]
PERSONAL: dict[str, tuple[str, Columns]] = {  # by the name of an ordinary column: classes of the label, and personal columns
    "tarif": ("ja|nein", {"Feld_3": Drawn(email, 70, 0.2)}),
    "durée": ("panne|facture|autre", {"numero": Drawn(form("06 99 99 99 99"), 50, 0.1)}),
    "queue": ("yes|no", {"col7": Drawn(form("+44 7999 999999"), 60, 0.3)}),
    "bedrag": ("0|1", {"tegenrekening": Drawn(iban, 45), "c2": Drawn(iban)}),
    "basket": ("yes|no", {"pay_ref": Drawn(card, 55, 0.05), "f9": Drawn(luhn("5", 16), 55)}),
    "temp": ("home|ward|icu", {"hetu": Drawn(finnish, 64), "v1": Drawn(finnish, 64)}),
    "ms": ("yes|no", {"src": Drawn(ip, 40), "v6": Drawn(form("2001:db8:xxxx:xxxx::xxx"), 40, 0.1)}),
    "strefa": ("tak|nie", {"nr_rej": Drawn(form("KR 9999A"), 80), "x4": Drawn(form("WA 99999"), 60)}),
    "horas": ("aprobado|suspenso", {"nombre": Drawn(word(FIRST), 0, 0.1), "apellidos": Drawn(word(LAST))}),
    "beds": ("yes|no", {"c5": Drawn(name("{l}, {f}"), 60), "seen_by": Drawn(name("{f} {l}"), 25)}),
    "likes": ("spam|ham", {"poster": Drawn(handle, 50), "field2": Drawn(lambda rng: "@" + handle(rng), 50)}),
    "kg": ("ja|nein", {"Feld_8": Drawn(address("{s} {n}", GERMAN), 70, 0.1)}),
    "poids": ("oui|non", {"col_4": Drawn(address("{n} {s}", FRENCH), 60)}),
    "waga": ("ok|zwrot", {"pole5": Drawn(address("{s} {n}/3", POLISH), 60)}),
    "absences": ("yes|no", {"geb_datum": Drawn(birth("{d:02d}.{m:02d}.{y}"), 90), "d2": Drawn(birth("{y}-{m:02d}-{d:02d}"), 90)}),
    "battery": ("yes|no", {"gerät": Drawn(form("xxxxxxxx-xxxx-4xxx-9xxx-xxxxxxxxxxxx"), 45),
                           "nic": Drawn(form("XX:XX:XX:XX:XX:XX"), 45),
                           "k3": Drawn(luhn("35", 15), 45)}),
    "slot": ("0|1", {"h": Drawn(digest, 50), "link": Drawn(lambda rng: "https://www.linkedin.com/in/" + handle(rng), 50, 0.4)}),
    "premio": ("si|no", {"cod_fisc": Drawn(italian, 60), "c3": Drawn(italian, 60, 0.2)}),
    "children": ("Y|N", {"q1": Drawn(form("499-39-9999"), 70), "tel": Drawn(form("(999) 555-9999"), 70, 0.2)}),
    "kwh": ("yes|no", {"klantnr": Drawn(form("K-9999999"), 60), "numer_klienta": Drawn(number(1000000, 9999999)),
                       "contact": Drawn(lambda rng: rng.choice([email, form("+31 6 99999999")])(rng), 60)}),
}  # fmt: skip
TEAMS = (
    "Red Hawks|River Plate|Real Sociedad|Boca Juniors|Leeds United|Werder Bremen|Inter"
    " Milan|Chicago Bulls|Celtic|Ajax|Santos"
)
TEMPTING: tuple[dict[str, str], ...] = (
    {"diag": "E11.9|I10|J45.909|M54.5|F32.1|N39.0|K21.9|Z00.00|S72.001A|I25.10"},
    {"article": "TS-4B-BLK|TS-4C-RED|TR-1A-BLK|TS-9D-WHT|XS-0B-RED"},
    {
        "site": (
            "Lyon|Kraków|Porto|Gdańsk|Nantes|Florence|Charlotte|Sydney|Austin|San"
            " José|Victoria|Adelaide|Santiago|St. Louis"
        )
    },
    {"origin": "Germany|France|Poland|Kenya|Japan|Brazil|Canada|Norway|Chad|Jordan|Georgia|Chile"},
    {"Farbe": "rot|blau|dunkelgrün|Rose|Violet|Amber|schwarz"},
    {"mois": "avril|mai|juin|juillet|août|septembre", "day": "April|May|June|August"},
    {"model": "KUKA KR-210|Fanuc M-20iA|ABB IRB 6700|Haas VF-2|Mazak QT-250|DMG 50"},
    {
        "app": "1.0.3|1.2.0|2.4.11|3.0.0-rc1|2.5.1",
        "col9": "10.0.19045.2|10.0.22631.1|12.6.1.0|14.2.0.1",
    },
    {"ccy": "EUR|USD|GBP|PLN|CHF|JPY|ZAR"},
    {
        "region": "North West|East Midlands|Yorkshire|South East|Wales",
        "area": "SW1|EC2|N16|M4|LS6|B15",
    },
    {
        "rolle": (
            "Software Engineer|Head Nurse|Sales Manager|Data Analyst|Store Clerk|Chief"
            " Accountant|Site Foreman|Lab Technician"
        )
    },
    {
        "abteilung": "Einkauf|Vertrieb|Personal|Buchhaltung",
        "unit": "Human Resources|Customer Care|Legal Affairs|Public Relations",
    },
    {"code": "0x80070005|0x8007000E|0xC0000005|ORA-00942|E1042|ERR_403"},
    {
        "license": "MIT|Apache-2.0|GPL-3.0-only|BSD-3-Clause|MPL-2.0",
        "fuehrerschein": "A|B|BE|C1|CE|D",
    },
    {
        "genre": "Film Noir|Science Fiction|Romantic Comedy|Drama|Western",
        "studio": "Warner Bros|Paramount|Walt Disney|Metro Goldwyn",
    },
    {"home": TEAMS, "away": TEAMS},
    {
        "solvent": "acetone|ethanol|sodium chloride|toluene|2-propanol|acetic acid|n-hexane",
        "cas": "67-64-1|64-17-5|7647-14-5|108-88-3",
    },
    {
        "path": "/api/v1/orders|/login|/static/app.js|/health|/cart",
        "event": "page.view|cart.add|order.paid|mark.read|grace.period",
    },
    {
        "grid": "JO62QN|JN58TD|IO91WM|KO02MD|FN31PR",
        "when": "2021-Q1|2021-Q2|2022-Q1|2022-Q3|2023-Q1|2023-Q2|2023-Q3|2024-Q1|2019-Q4",
    },
    {
        "Q1": "Strongly agree|Agree|Neutral|Disagree",
        "Q2": "Sehr zufrieden|Unzufrieden|Keine Angabe",
        "span": "18-24|25-34|35-44|55+",
    },
)
FEW_PEOPLE: Columns = {  # in a column without a telling name
    "employees": Drawn(form("emp9999"), 18), "German plates": Drawn(form("HH-AA 999"), 20),
    "French plates": Drawn(form("AA-999-AA"), 20), "Chinese phones": Drawn(form("139 9999 9999"), 20),
    "Turkish addresses": Drawn(address("{s} Sk. No:{n}", "Gül|Lale|Atatürk|Barış"), 20),
    "cookies": Drawn(form("GA1.2.999999999.1699999"), 20), "Swiss": Drawn(form("756.9999.9999.99"), 20),
    "Swedish addresses": Drawn(address("{s} {n}", "Storgatan|Kungsgatan|Björkvägen"), 20),
    "policies": Drawn(form("POL/2021/99999"), 20),
    "Japanese names": Drawn(lambda rng: rng.choice(["佐藤", "鈴木", "田中"]) + rng.choice("健翔葵"), 20),
    "Greek names": Drawn(lambda rng: f"{word('Μαρία|Νίκος|Ελένη')(rng)} {word('Νικολάου|Γεωργίου')(rng)}", 20),
    "Arabic names": Drawn(lambda rng: f"{word('محمد|فاطمة|علي')(rng)} {word('العلي|سعيد')(rng)}", 20),
    "logins": Drawn(lambda rng: f"{rng.choice('abcdefg')}.{word('smith|jones|keller|rossi')(rng)}{rng.randint(1, 9)}", 20),
    "Polish names": Drawn(lambda rng: f"{word('Mścisław|Dobrawa|Mieszko')(rng)} {word('Wójcik|Kamiński|Krawczyk')(rng)}", 20),
}  # fmt: skip
OWNERS: dict[str, Maker] = {
    "pacjent": form("P99999"), "kundenummer": number(10000, 99999), "opiskelija": form("op9999"), "id_paciente": number(1, 9999),
    "cliente": form("CL-9999"), "élève": form("E9999"), "medarbetare": number(100, 999), "hasta_no": number(10000, 99999),
    "pracownik_id": form("PR999"), "lid_nr": number(1000, 9999), "顧客ID": form("C99999"), "studente": form("s999999"),
    "col1": form("xxxxxxxx"), "Feld_1": number(100000, 999999), "x0": form("AA-99999"),
}  # fmt: skip
UNNAMED = ("col1", "Feld_1", "x0")
AMOUNTS: dict[str, Maker] = {
    "amount": number(1, 9000, 2), "price": number(10000, 900000), "Umsatz": number(10, 5000, 2), "salaire": number(1400, 9000),
    "kosten": number(1, 800, 1), "temperature": number(-10, 40, 1), "minutes": number(1, 2000), "y": number(-3, 3, 4),
    "target": number(1, 100000),
}  # fmt: skip
CLASSES: dict[str, Maker] = {
    "class": word("1|2|3"), "label": word("0|1"), "y": number(0, 9), "grade": number(1, 6), "target": word("setosa|virginica"),
    "rating": number(1, 5), "Ergebnis": word("gut|mittel|schlecht"), "outcome": lambda rng: rng.uniform() < 0.4,
    "quality": number(3, 8), "risk": word("low|mid|high"),
}  # fmt: skip


def find_roles(
    columns: Columns, people: int | None = None, label: str | None = None
) -> ColumnStudy:
    rng = Rng(" ".join(columns))
    made = {title: drawn.column(rng, people) for title, drawn in columns.items()}
    return study_columns(
        pl.DataFrame(made | ({"outcome": Drawn(word(label)).column(rng)} if label else {}))
    )


@pytest.mark.parametrize("people", [None, 25, 15])
@pytest.mark.parametrize("ordinary", PERSONAL)
def test_personal_data_is_left_out_or_the_owner(ordinary: str, people: int | None) -> None:
    label, personal = PERSONAL[ordinary]
    found = {
        one.column: one
        for one in find_roles({ordinary: Drawn(number(1, 60)), **personal}, people, label).guesses
    }
    for column in personal:
        assert found[column].role in ("left out", "client"), found[column]
    assert found[ordinary].role == "numeric"


@pytest.mark.parametrize("title", FEW_PEOPLE)
def test_few_people_with_many_rows_are_no_categories(title: str) -> None:
    found = find_roles(
        {"hours": Drawn(number(1, 60)), "col3": FEW_PEOPLE[title]}, None, "yes|no"
    ).guesses
    assert found[1].role in ("left out", "client"), found[1]


def test_what_only_looks_personal_is_used() -> None:
    wrong = []
    for columns in TEMPTING:
        drawn = {title: Drawn(word(words)) for title, words in columns.items()}
        found = find_roles({"weight": Drawn(number(1, 60)), **drawn}, None, "yes|no").guesses
        wrong += [
            one.column for one in found if one.column in columns and one.role != "categorical"
        ]
    assert wrong == ["site"]  # places own rows if no person does
    assert (len(PERSONAL), len(TEMPTING), len(OWNERS)) == (20, 20, 15)


@pytest.mark.parametrize("owner", OWNERS)
def test_owners_are_found_or_asked_for(owner: str) -> None:
    found = find_roles(
        {
            owner: Drawn(OWNERS[owner], 45),
            "hours": Drawn(number(1, 60)),
            "kind": Drawn(word("a|b|c")),
        },
        None,
        "yes|no",
    )
    if owner in UNNAMED:
        assert any(f"--client '{owner}'" in note for note in found.notes)
    else:
        assert found.guesses[0].role == "client"


def _house(last: str, make: Maker) -> Columns:
    return {
        "rooms": Drawn(number(1, 9)),
        "heat": Drawn(word("gas|oil|wood")),
        "surface": Drawn(number(20, 200, 1)),
        last: Drawn(make),
    }


@pytest.mark.parametrize("amount", AMOUNTS)
def test_amounts_are_refused(amount: str) -> None:
    with pytest.raises(DataError, match="amounts not yet"):
        find_roles(_house(amount, AMOUNTS[amount]))


@pytest.mark.parametrize("label", CLASSES)
def test_classes_are_predicted(label: str) -> None:
    assert [
        one.column
        for one in find_roles(_house(label, CLASSES[label])).guesses
        if one.role == "label"
    ] == [label]
