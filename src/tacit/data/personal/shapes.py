"""Detect personal data by the shape of cells: patterns and check digits, each for a whole cell.

One cell proves little ("12.03.1980" may be anything); `personal` counts the distinct values of a
column that have a shape.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

Check = Callable[[str], bool]


class CellShape(NamedTuple):
    """The kind of data, as a plural; the pattern of a whole cell; and a further condition."""

    what: str
    pattern: re.Pattern[str]
    holds: Check = lambda cell: True


def _keep_digits(cell: str) -> str:
    return "".join(letter for letter in cell if letter.isdigit())


def is_luhn(cell: str) -> bool:
    """Whether the digits of a cell end in the check digit of card numbers."""
    digits = [int(letter) for letter in reversed(_keep_digits(cell))]
    return (
        sum(digit if at % 2 == 0 else sum(divmod(2 * digit, 10)) for at, digit in enumerate(digits))
        % 10
        == 0
    )


def is_iban(cell: str) -> bool:
    """Whether a cell has the check digits of an IBAN, or is written in groups of four as
    IBANs are.
    """
    plain = cell.replace(" ", "").upper()
    if not 15 <= len(plain) <= 34:
        return False
    number = "".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])
    return int(number) % 97 == 1 or (
        all(len(group) == 4 for group in cell.split(" ")[:-1]) and " " in cell
    )


def _sum_weighted(digits: str, weights: tuple[int, ...]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def is_national_number(cell: str) -> bool:
    """Whether 10, 11 or 18 digits end in the check digits of a national id (NHS; CPF, PESEL, German
    tax id, T.C.; China's).
    """
    plain = re.sub(r"[\s.\-]", "", cell)
    if len(plain) == 10:
        return (11 - _sum_weighted(plain, tuple(range(10, 1, -1))) % 11) % 11 == int(plain[9])
    if len(plain) == 18:
        weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
        return "10X98765432"[_sum_weighted(plain, weights) % 11] == plain[
            17
        ].upper() or _has_birth_date(plain[6:14])
    return _is_cpf(plain) or _is_pesel(plain) or _is_tax_id(plain) or _is_turkish(plain)


def _has_birth_date(digits: str) -> bool:
    return (
        "1900" <= digits[:4] <= "2035"
        and "01" <= digits[4:6] <= "12"
        and "01" <= digits[6:8] <= "31"
    )


def _is_cpf(plain: str) -> bool:
    firsts = [
        _sum_weighted(plain[:count], tuple(range(count + 1, 1, -1))) * 10 % 11 % 10
        for count in (9, 10)
    ]
    return firsts == [int(plain[9]), int(plain[10])]


def _is_pesel(plain: str) -> bool:
    return (10 - _sum_weighted(plain, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10) % 10 == int(
        plain[10]
    ) and 1 <= int(plain[4:6]) <= 31


def _is_tax_id(plain: str) -> bool:
    product = 10
    for digit in plain[:10]:
        total = (int(digit) + product) % 10 or 10
        product = 2 * total % 11
    return (11 - product) % 10 == int(plain[10]) and plain[0] != "0"


def _is_turkish(plain: str) -> bool:
    digits = [int(letter) for letter in plain]
    tenth = (7 * sum(digits[0:9:2]) - sum(digits[1:8:2])) % 10
    return [tenth, sum(digits[:10]) % 10] == digits[9:] and digits[0] != 0


def is_spanish(cell: str) -> bool:
    """Whether the letter of a DNI or NIE fits its number."""
    plain = re.sub(r"[\s.\-]", "", cell).upper()
    number = plain[:-1].replace("X", "0").replace("Y", "1").replace("Z", "2")
    return number.isdigit() and "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == plain[-1]


def is_phone(cell: str) -> bool:
    """Whether a cell has as many digits as a telephone number and is not a date."""
    return 7 <= len(_keep_digits(cell)) <= 15 and not re.fullmatch(
        r"\d{1,4}[./\-]\d{1,2}[./\-]\d{1,4}", cell
    )


def mixes_digits_and_letters(cell: str) -> bool:
    """Whether a hexadecimal cell has both digits and letters."""
    return any(letter.isdigit() for letter in cell) and any(letter.isalpha() for letter in cell)


def _shape(what: str, pattern: str, holds: Check = lambda cell: True) -> CellShape:
    return CellShape(what, re.compile(pattern, re.IGNORECASE), holds)


_PROFILES = "facebook|twitter|x|instagram|linkedin|vk|weibo|tiktok|github|youtube|t|reddit|xing|ok"
_ROAD_FIRST = (
    r"rue|avenue|av|bd|boulevard|chemin|impasse|place|quai|allée|allee|cours|route|calle|c/|avenida|avda|plaza|paseo|camino|"
    r"carrera|via|viale|piazza|corso|vicolo|largo|rua|praça|travessa|alameda|strada|ул|улица|проспект|пр-т|пер|переулок|бульвар|"
    r"шоссе|вул|вулиця|ulica|ul|aleja|aleje|al|plac|pl|osiedle|os"
)
_ROAD_ENDING = (
    r"straße|strasse|str\.|weg|platz|allee|gasse|ring|damm|ufer|straat|laan|plein|gracht|gatan|"
    r"vägen|vej|gade|veien|katu|utca"
)
_ROAD_LAST = r"street|st|road|rd|avenue|ave|lane|ln|drive|dr|boulevard|blvd|way|court|ct|place|pl|square|sq|terrace|highway"
SHAPES = (
    _shape("e-mail addresses", r"(mailto:)?[^@]{0,40}?<?[\w.+'%\-]+\s?(@|\(at\)|\[at\])\s?[\w\-]+(\.[\w\-]+)+>?"),
    _shape("IP addresses", r"(25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}(:\d+)?"),
    _shape("IP addresses", r"(?=.*:.*:)[0-9a-f]{0,4}(:[0-9a-f]{0,4}){3,7}"),
    _shape("addresses of devices (MAC)", r"[0-9a-f]{2}([:\-][0-9a-f]{2}){5}|([0-9a-f]{4}\.){2}[0-9a-f]{4}"),
    _shape("addresses of profiles", rf"(https?://)?(\w+\.)?({_PROFILES})\.(com|net|org|me|ru|cn|de|social)/\S+"),
    _shape("addresses of profiles", r"https?://\S+/(~|@|u/|user/|users/|profile/|people/|in/)\S+"),
    _shape("user names", r"@[\w.\-]{2,40}"),
    _shape("UUIDs", r"\{?[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\}?"),
    _shape("hashes", r"(0x)?([0-9a-f]{24}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})",
           mixes_digits_and_letters),
    _shape("IBANs", r"[a-z]{2}\d{2}( ?[a-z0-9]{4}){2,7}( ?[a-z0-9]{1,4})?", is_iban),
    _shape("card numbers", r"\d{4}([ \-]\d{4}){3}|\d{4}[ \-]\d{6}[ \-]\d{5}"),
    _shape("card numbers", r"[2-6]\d{12,18}", is_luhn),
    _shape("national id numbers", r"\d{3}-\d{2}-\d{4}"),  # United States
    _shape("national id numbers", r"(\d{8}|[xyz]\d{7})[ \-]?[a-z]", is_spanish),
    _shape("national id numbers", r"[a-z]{6}\d{2}[a-ehlmprst]\d{2}[a-z]\d{3}[a-z]"),  # Italy
    # France
    _shape("national id numbers", r"[12] ?\d{2} ?(0[1-9]|1[0-2]) ?\d[\dab] ?\d{3} ?\d{3}( ?\d{2})?"),
    # Brazil, Russia
    _shape("national id numbers", r"\d{3}\.\d{3}\.\d{3}-\d{2}|\d{3}-\d{3}-\d{3} \d{2}"),
    # United Kingdom
    _shape("national id numbers", r"[a-ceghj-prstw-z][a-ceghj-nprstw-z] ?\d{2} ?\d{2} ?\d{2} ?[a-d]"),
    _shape("national id numbers", r"[a-z]{5}\d{4}[a-z]|\d{4} \d{4} \d{4}"),  # India
    # Sweden
    _shape("national id numbers", r"(19|20)?\d{2}(0[1-9]|1[0-2])([0-2]\d|3[01]|[678]\d|9[01])[\-+]\d{4}"),
    # Denmark, Finland
    _shape("national id numbers", r"([0-2]\d|3[01])(0[1-9]|1[0-2])\d{2}[\-+a]\d{3}[\da-z]"),
    _shape("national id numbers", r"\d{2}(0[1-9]|1[0-2])([0-2]\d|3[01])-[1-8]\d{6}"),  # Korea
    _shape("national id numbers", r"756\.\d{4}\.\d{4}\.\d{2}"),  # Switzerland
    _shape("national id numbers", r"[a-z]{4}\d{6}[hm][a-z]{5}[a-z\d]\d"),  # Mexico
    _shape("national id numbers", r"\d{2} ?\d{6} ?[a-z] ?\d{3}"),  # Germany: social insurance
    _shape("national id numbers", r"\d{11}|\d{17}[\dx]|\d{3} \d{3} \d{4}|\d{2} \d{3} \d{3} \d{3}|\d{3}\.?\d{3}\.?\d{3}-?\d{2}",
           is_national_number),
    # Germany, France
    _shape("licence plates", r"[a-zäöü]{1,3}[ \-][a-z]{1,2}[ \-]?\d{1,4}[eh]?|[a-z]{2}[ \-]\d{3}[ \-][a-z]{2}"),
    # Britain, Spain
    _shape("licence plates", r"[a-z]{2}\d{2} [a-z]{3}|\d{4}[ \-][b-df-hj-np-tv-z]{3}"),
    _shape("licence plates", r"[a-z]{2,3} \d{4}[a-z]"),  # Poland
    _shape("telephone numbers", r"(\+|00)\s?\d[\d\s()./\-]{6,20}\d", is_phone),
    _shape("telephone numbers", r"\(?0\d{1,5}\)?([\s/\-.]\d{2,8}){1,5}|0\d{9,10}", is_phone),
    _shape("telephone numbers", r"\(\d{2,4}\)\s?\d{3,5}[\s\-.]?\d{4}|\d{3}[\-. ]\d{3}[\-. ]\d{4}(\s?x\d+)?"),
    _shape("telephone numbers", r"1[3-9]\d[ \-]?\d{4}[ \-]?\d{4}"),  # China
    _shape("telephone numbers", r"8\s?\(?\d{3}\)?[\s\-]\d{3}[\s\-]?\d{2}[\s\-]?\d{2}"),  # Russia
    _shape("street addresses", rf"\d+[a-z]?,?\s+[^\W\d].*\s({_ROAD_LAST})\b\.?(,.*|\s.{{0,40}})?"),
    _shape("street addresses", rf".*({_ROAD_ENDING})\s+\d+\s?[a-z]?\b.*"),
    _shape("street addresses", rf"(?=.*\d)(\d+[a-z]?( bis| ter)?,?\s)?({_ROAD_FIRST})[.\s]\s*[^\W\d].{{3,}}"),
    _shape("street addresses", r".*\b(sokak|sokağı|sok|sk|cadde|caddesi|cad|mahallesi|mah|bulvarı)\b\.?.*\d+.*"),
    _shape("street addresses", r".*[路街巷道].{0,8}\d+\s*号.*|.*\d+丁目.*|.*(로|길) \d+.*"),
)  # fmt: skip
"""From the most to the least distinctive."""
