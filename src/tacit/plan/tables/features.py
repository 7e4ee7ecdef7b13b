"""[features]: how rows become numbers."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from tacit.column_statistics.common_values import LEAST_CLIENTS
from tacit.plan.kinds import STRICT, Count, ListedEach, Many, Name, Positive
from tacit.plan.tables.share import SUPPRESS

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

Text = Literal["binary", "listed", "sequence", "words", "pieces"]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Quantise:
    """Numbers become channels of their column's range before anybody trains on them; not
    differentially private.
    """

    levels: Annotated[int, Ge(1), Le(16)] = 8
    """The finest level; level l has 2^l channels."""
    columns: Many[Name] = ()
    """Which numeric columns; without it, all of them."""
    trained_on: Literal["midpoints", "tokens"] = "midpoints"
    """What a model sees of a channel: its middle, for trainers who may know it; or a token under
    the clients' secret, for those who may not, as one of 2^levels inputs without an order.
    """
    selection: Literal["finest", "last_head", "subset"] = "finest"
    """The level at which a value is told: the finest, or by coins the position of the last head or
    the number of heads.
    """
    mean_level: Positive | None = None
    """The expected level, if coins choose it."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Features:
    """How rows become numbers."""

    text: Text = "binary"
    """Which hashed words occur, or which words of a public list (`listed`); or the order of hashed
    words (for `embedding` and `lstm`), of unhashed words (`bilstm`) or of word pieces (`encoder`).
    """
    buckets: Annotated[int, Ge(2), Le(50_000_000)] = 5000
    """How many numbers words are hashed to; `listed`: how many words of the list are read, the most
    frequent first.
    """
    list: Name | None = None
    """`listed`, and `binary` with `rarity`: the public list: `en`, `de`, `es`, `fr`, `it`, `nl`,
    `pl`, `pt`, `sv`, or a file with one word per line, the most frequent first. Only its order
    counts.
    """
    rarity: Annotated[float, Ge(0), Le(1)] = 0.0
    """`listed`, `binary`: weigh a word by the share of texts that have it, guessed from its rank in
    the list, to the power of minus this; 0.3 is good. Hashed words have the weight of their bucket,
    from all words of the list that fall into it.
    """
    counts: Literal["presence", "counts", "sublinear"] = "presence"
    """`binary`, `listed`: what a word adds to its row: one, however often it occurs; how often it
    occurs; or 1 + ln of that.
    """
    ngrams: Annotated[int, Ge(1), Le(5)] = 1
    """`binary` with `words = "unicode"`: hash up to so many neighbouring words together too, into
    the same buckets; 2: words and pairs.
    """
    characters: Many[Annotated[int, Ge(2), Le(20)]] = ()
    """`binary` with `words = "unicode"`: hash character n-grams of words too, into the same
    buckets: the fewest and the most characters, as `[3, 5]`. A word's beginning and its end count
    as one character each.
    """
    words: Literal["letters", "unicode"] = "letters"
    """`binary`, `listed`, `sequence`: what a word is. Runs of the letters a-z, all else deleted, as
    in the paper; or words of any script, numbers, hashtags and emoji ([data.md](data.md)). `tacit
    init` writes `unicode`.
    """
    base: Annotated[int, Ge(2), Le(1_000_003)] = 31
    """`letters`: base of the rolling hash."""
    length: Annotated[int, Ge(1), Le(100_000)] = 300
    """`sequence`, `words`, `pieces`: how many are read per row; longer texts are cut."""
    stop_words: bool = False
    """Drop common English words first."""
    min_count: Count = 1
    """`words`: words that occur less often than this in a client's own training texts are unknown
    words to it. Where words are shared (`private.words` is not `all`), words that are rarer than
    this in all training texts together are left out.
    """
    numeric: Literal["minmax", "robust", "raw"] = "minmax"
    """Scale each column to 0…1 by its range; or to -1…1 by the range of all rows but 1 % at either
    end, so that a few wrong or extreme values do not flatten it; or leave it. `tacit init` writes
    `robust`.
    """
    ranges: Annotated[dict[Name, tuple[float, float]], ListedEach] = field(default_factory=dict)
    """`minmax`, `robust`: agreed least and greatest values of columns, which must not come from
    rows. The range of any other column is read from the training rows in the clear.
    """
    missing: Many[Name] | None = None
    """Numeric columns in which cells may lack a number: each has one more input that says whether
    it does, and the missing number itself becomes the middle of the column's range. Without this
    key, the columns in which training rows lack one, which is read in the clear.
    """
    categorical: Literal["codes", "onehot"] = "onehot"
    """One input per category, or one number per column. The categories are read in the clear."""
    category_clients: Count = LEAST_CLIENTS
    """A category is known to the model, and named in its files, only if at least this many clients
    have it; where there are fewer than twice as many clients, half of them. Without a client
    column, rows are counted. Rarer categories count as unknown, as those do that training rows did
    not have. A named data set is public, and all its categories are known. At a site, the owner's
    `limits.min_clients_per_value` counts instead.
    """
    image: Name = "pixels"
    """Brightness of each pixel, 0…1; or what a network that is never trained makes of a picture:
    `efficientnet_lite0` (1,280 numbers), or a folder with an image network that `transformers` can
    load. Computed once and kept in the cache.
    """
    project: Count | None = None
    """Project what images become to this many numbers, along directions found in the rows at the
    center (`[public]`).
    """
    directions: Literal["strongest", "classes"] = "strongest"
    """`project`: the directions in which these rows vary most, or those that tell their classes
    apart, one fewer than there are classes at most.
    """
    standardise: bool = False
    """`project`: scale each of these numbers to spread by 1 on the rows at the center."""
    row_norm: Positive | None = None
    """Scale each row's features to this L2 norm, after any projection, so that rows have gradients
    of similar norm. Sequences have none.
    """
    constant: Annotated[float, Ge(0), Le(100)] = 0.0
    """Give every row one more input of this value, in place of a bias: `model.bias = false` and 0.1
    let a constant in that takes up little of an update's length. Sequences have none.
    """
    quantise: Quantise | None = None


def problems(plan: Plan) -> list[str]:
    """Return a sentence for each way in which rows cannot become what the model reads."""
    quantise = _quantise(plan, plan.features.quantise) if plan.features.quantise else ()
    found = [
        *_unread(plan),
        *text_problems(plan.features),
        *_projection(plan),
        *_ranges(plan.features),
        *quantise,
    ]
    if plan.features.min_count > 1 and plan.features.text != "words":
        found.append(
            f"features.min_count: needs features.text = 'words', got {plan.features.text!r};"
            " remove it"
        )
    return found


def text_problems(features: Features) -> list[str]:
    """Return a sentence for each setting of text that has no meaning beside the others."""
    return [*_words(features), *_list(features), *_terms(features)]


def _unread(plan: Plan) -> list[str]:
    text, model = plan.features.text, plan.model
    if text in model.reads:
        return []
    fitting = " or ".join(repr(word) for word in model.reads)
    return [
        f"features.text: needs {fitting}, since model.name = {model.name!r} reads nothing else; got"
        f" {text!r}"
    ]


def _words(features: Features) -> list[str]:
    if features.words == "letters":
        return []
    if features.text in ("words", "pieces"):
        return [
            f"features.words: has no meaning with features.text = {features.text!r}, whose words"
            " are the model's own; remove it"
        ]
    no_base = (
        "features.base: has no meaning with features.words = 'unicode', which has a hash of its"
        " own; remove it"
    )
    no_stops = (
        "features.stop_words: needs features.words = 'letters', since the list is of English words;"
        " remove one of the two"
    )
    return [
        *([no_base] if features.base != 31 else ()),
        *([no_stops] if features.stop_words else ()),
    ]


def _list(features: Features) -> list[str]:
    if features.text == "listed":
        needs = (
            "needs a language such as 'en', or a file with one word per line, since features.text ="
            " 'listed'; got nothing"
        )
        return [] if features.list else [f"features.list: {needs}"]
    if features.text == "binary":
        if features.rarity and not features.list:
            return [
                "features.rarity: needs a public list in features.list, such as 'en', got none"
                f" with {features.rarity:g}; name one"
            ]
        if features.list and not features.rarity:
            return [
                "features.list: has no meaning with features.text = 'binary' and without"
                " features.rarity; use 'listed' or remove it"
            ]
        return []
    return _meaningless(features, "list", "rarity")


def _terms(features: Features) -> list[str]:
    """Return what is wrong with counts and n-grams."""
    if features.text not in ("binary", "listed"):
        return _meaningless(features, "counts", "ngrams", "characters")
    if features.text == "listed":
        return _meaningless(features, "ngrams", "characters")
    found = [
        f"features.{key}: needs features.words = 'unicode', got 'letters', whose hash is kept as"
        " published; set that or remove this"
        for key in ("ngrams", "characters")
        if features.words == "letters" and key in _set(features)
    ]
    if features.characters and (
        len(features.characters) != 2 or features.characters[0] > features.characters[1]
    ):
        needs = "needs the fewest and the most characters of an n-gram, such as [3, 5]"
        found.append(f"features.characters: {needs}, got {[*features.characters]}; give both")
    return found


def _meaningless(features: Features, *keys: str) -> list[str]:
    either = "'binary' or 'listed'"
    fitting = {
        "list": either,
        "rarity": either,
        "counts": either,
        "ngrams": "'binary'",
        "characters": "'binary'",
    }
    return [
        f"features.{key}: has no meaning with features.text = {features.text!r}; use {fitting[key]}"
        " or remove it"
        for key in keys
        if key in _set(features)
    ]


def _set(features: Features) -> set[str]:
    """Return the keys of text that are not as by default."""
    return {
        key
        for key in ("list", "rarity", "counts", "ngrams", "characters")
        if getattr(features, key) != getattr(Features, key)
    }


def _projection(plan: Plan) -> list[str]:
    found, features = [], plan.features
    if features.project is not None and plan.public is None:
        found.append(
            "features.project: needs a [public] table, since directions are found in rows at the"
            f" center; got {features.project} without one"
        )
    for key in ("standardise", "directions"):
        if features.project is None and getattr(features, key) not in (False, "strongest"):
            found.append(
                f"features.{key}: has no meaning without features.project; set that or remove this"
            )
    return found


def _ranges(features: Features) -> list[str]:
    found = [
        f"features.ranges.{name}: needs a greatest value above the least, got {low:g} and {high:g}"
        for name, (low, high) in features.ranges.items()
        if not low < high
    ]
    if features.ranges and features.numeric == "raw":
        found.append(
            "features.ranges: has no meaning with features.numeric = 'raw', which scales nothing;"
            " remove one of the two"
        )
    return found


def _quantise(plan: Plan, settings: Quantise) -> list[str]:
    found, coins = [], settings.selection != "finest"
    if plan.features.numeric != "minmax":
        found.append(
            "features.quantise: needs features.numeric = 'minmax', since channels divide a range;"
            f" got {plan.features.numeric!r}"
        )
    if plan.data.share is not None:
        coarser = plan.data.share.generalise
        shown = [name for name in settings.columns if coarser.get(name) != SUPPRESS] or (
            [] if settings.columns else ["all"]
        )
        if shown:
            found.append(
                "features.quantise.columns: needs columns that rows which are handed over leave"
                f" out, since they leave as they are (data.share.generalise: {SUPPRESS!r}); got"
                f" {', '.join(shown)}"
            )
    if coins != (settings.mean_level is not None):
        found.append(
            "features.quantise.mean_level: needs a selection by coins, and that needs it; "
            f"got {settings.selection!r}, {settings.mean_level}"
        )
    if settings.mean_level is not None and settings.mean_level > settings.levels:
        found.append(
            "features.quantise.mean_level: needs at most features.quantise.levels ="
            f" {settings.levels}, got {settings.mean_level:g}"
        )
    return found
