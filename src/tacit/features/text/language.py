"""Language detection by common words, or by script where no word list is known.

The words are those that rank high in one list of `features.list` and low in the others. A library
would know more languages and add 4 to 100 MB; here it only matters which of nine public lists fits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from tacit.features.text import scripts

_COMMON = {
    "en": (
        "the of to and that you it with this be are have at not but from or your all his they if"
        " can about up out what when were who their there her which been would is was for my"
    ),
    "de": (
        "der die das und ist nicht zu von mit ein auf für eine sich auch dass bei aber aus hat sind"
        " nach noch wir nur wenn oder wird einen haben einer zum kann über dann ich"
    ),
    "es": (
        "el los las más pero sus ya cuando yo hay fue muy también eso tiene qué así años puede"
        " hasta hacer ahora esto hace donde está con por para una"
    ),
    "fr": (
        "et est pas une pour dans au ce sur qu par plus avec vous ça elle sont tout fait nous comme"
        " être ils cette faire aux même ont était les des je"
    ),
    "it": (
        "di che è della sono più dei nel anche gli delle questo ho dal essere nella cui stato tutti"
        " questa tutto hanno tra fatto perché così molto ma non"
    ),
    "nl": (
        "van het een op ik dat voor niet zijn maar aan hij ook door naar uit bij wat heeft deze"
        " hebben geen mijn wordt heb worden kunnen veel moet de en"
    ),
    "pl": (
        "w się z jest że jak ale tak od dla tym czy przez tego są tylko już mnie może bo ten oraz"
        " bardzo będzie być jego mam jeśli też nie na"
    ),
    "pt": (
        "em é não uma com os foi ao você seu tem são ele muito isso já também meu pelo ela vai só"
        " pela até pode tudo ainda aqui fazer que"
    ),
    "sv": (
        "är det att och jag på inte som för med har av så till ett ska när vad från här mig bara"
        " eller då hur kommer vill sig vara där får"
    ),
}
_LISTS = {code: frozenset(words.split()) for code, words in _COMMON.items()}
NAMES = {
     "en": "English", "de": "German", "es": "Spanish", "fr": "French", "it": "Italian", "nl":
    "Dutch", "pl": "Polish", "pt": "Portuguese", "sv": "Swedish",
}  # fmt: skip
_SCRIPTS = (("Cyrillic", 0x0400, 0x052F), ("Greek", 0x0370, 0x03FF), ("Hebrew", 0x0590, 0x05FF), ("Arabic", 0x0600, 0x06FF),
            ("Devanagari", 0x0900, 0x097F), ("Thai", 0x0E00, 0x0E7F), ("Japanese", 0x3040, 0x30FF), ("Chinese", 0x4E00, 0x9FFF),
            ("Korean", 0xAC00, 0xD7AF))  # fmt: skip
_EVERYDAY_WORDS = (
    "good bad great best better nice well new old first last long short big small little high low"
    " right wrong same other many much more most some any no yes not very really just also only"
    " even still never always now then here there today time day week month year night morning hour"
    " minute man woman people child boy girl friend family home house room place city country world"
    " work job school money price cost food water book film movie music song story game team player"
    " car phone case number part end thing way life hand eye head body heart name word line side"
    " news show see saw seen look looked watch read say said tell told ask asked think thought know"
    " knew like liked love loved want wanted need needed use used make made go went gone come came"
    " take took get got give gave find found feel felt keep kept let put run try tried call called"
    " help start started stop play played buy bought sell sold pay paid eat happy sad free full"
    " open close hard easy fast slow hot cold true false real again back off over under after"
    " before because while through every each both few one two three four five six seven eight nine"
    " ten hello thanks please sorry ok service quality product order delivery hotel staff doctor"
    " patient problem question answer wonderful terrible awful boring funny beautiful perfect"
    " excellent poor worst amazing fun interesting acting plot actor character ending screen"
    " battery charge button sound picture"
)
_EVERYDAY = frozenset(_EVERYDAY_WORDS.split())
"""Everyday English words: short texts have them more often than "the" and "of"."""
_SHARE, _LEAD, _EVERYDAY_SHARE = 0.1, 1.3, 0.4


class Language(NamedTuple):
    """The code of a public word list, if there is one, and the name of the language or script."""

    code: str | None
    name: str


def get_language_name(code: str) -> str:
    """The name of a language with a public word list."""
    return NAMES[code]


def detect_language(texts: Iterable[str]) -> Language:
    """Detect the language of most texts: one with a public list, else a non-Latin script, else
    unknown.
    """
    letters, words, found, everyday = Counter[str](), 0, Counter[str](), 0
    for text in texts:
        for word in scripts.split_words(text):
            words += 1
            everyday += word in _EVERYDAY
            found.update(code for code, common in _LISTS.items() if word in common)
            letters.update(_detect_script(letter) for letter in word)
    for script in ("Japanese", *(name for name, _, _ in _SCRIPTS)):
        if letters[script] > (0.1 if script == "Japanese" else 0.5) * letters.total():
            return Language(None, script)
    ranked = [*found.most_common(2), ("", 0), ("", 0)]
    if words and ranked[0][1] >= _SHARE * words and ranked[0][1] >= _LEAD * ranked[1][1]:
        return Language(ranked[0][0], NAMES[ranked[0][0]])
    english = words > 0 and everyday + found["en"] >= _EVERYDAY_SHARE * words
    return Language("en", NAMES["en"]) if english else Language(None, "")


def _detect_script(letter: str) -> str:
    code = ord(letter)
    return next((name for name, first, last in _SCRIPTS if first <= code <= last), "Latin")
