"""[features]: how rows become input features."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Literal, assert_never

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BeforeValidator
from pydantic.dataclasses import dataclass

from tacit.column_statistics.common_values import LEAST_CLIENTS
from tacit.plan.kinds import STRICT, Count, ListedEach, Many, Name, Positive
from tacit.plan.tables.rows.share import SUPPRESS

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

WordForm = Literal["binary", "listed", "sequence", "words", "pieces"]
Text = Literal[WordForm, "encoder", "encoder+listed", "encoder+binary"]


def _join_forms(value: object) -> object:
    """Turn a list such as `["encoder", "listed"]` into its name, `encoder+listed`."""
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return "+".join(sorted(value, key=lambda one: one != "encoder"))
    return value


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Quantise:
    """Quantise numeric values into bins of their column's range before training; not differentially
    private.
    """

    levels: Annotated[int, Ge(1), Le(16)] = 8
    """The finest level; level l has 2^l channels."""
    columns: Many[Name] = ()
    """Numeric columns to quantise; default: all."""
    trained_on: Literal["midpoints", "tokens"] = "midpoints"
    """What the model reads: the midpoint of a channel, or a token under the clients' secret, as one
    of 2^levels unordered inputs, if the trainer must not know the channel.
    """
    selection: Literal["finest", "last_head", "subset"] = "finest"
    """The level of a value: the finest, or drawn by coin tosses, as the position of the last head
    or as the number of heads.
    """
    mean_level: Positive | None = None
    """The expected level, if it is drawn by coin tosses."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Features:
    """How rows become input features."""

    fit: Literal["clear", "private"] = "clear"
    """Where ranges, categories, classes and missing columns that no plan states come from. `clear`:
    read from the training rows without noise. `private`: bought with a part of the run's epsilon,
    before round 1, so that nothing is read in the clear ([privacy.md](concepts/privacy.md)).
    """
    fit_share: Annotated[float, Gt(0), Lt(1)] = 0.1
    """`fit = "private"`: the part of the run's guarantee that features cost. With Gaussian noise
    losses add up in 1 / z² (z the noise multiplier), and this is features' part of that sum.
    """
    classes: Many[Name] = ()
    """Classes of the label, which must not be read from rows. Rows of other classes are left out.
    Default: all classes of the training rows, which are read in the clear.
    """
    categories: Annotated[dict[Name, tuple[str, ...]], ListedEach] = field(default_factory=dict)
    """Categories of columns, which must not be read from rows; others are treated as unknown."""
    text: Annotated[Text, BeforeValidator(_join_forms)] = "binary"
    """What the model reads of a text: which hashed words occur (`binary`); which words of a public
    list (`listed`); the output of a frozen text encoder (`encoder`), also with words
    (`["encoder", "listed"]`); or the sequence of hashed words (`sequence`, for `embedding` and
    `lstm`), of words (`words`, for `bilstm`) or of word pieces (`pieces`, for the model `encoder`).
    """
    encoder: Name = "minilm"
    """`encoder`: the frozen network: `minilm` (all-MiniLM-L6-v2, 384 numbers per text), or a folder
    with a text network that `transformers` or sentence-transformers can load (safetensors weights;
    none of its code is run). Outputs are computed once and cached.
    """
    encoder_norm: Annotated[float, Gt(0), Le(100)] = 1.0
    """`encoder` with words: L2 norm of the encoder's numbers before `row_norm` scales the row; that
    of the words is 1.
    """
    buckets: Annotated[int, Ge(2), Le(50_000_000)] = 5000
    """Number of hash buckets; `listed`: number of words of the list, the most frequent first."""
    list: Name | None = None
    """`listed`, and `binary` with `rarity`: the public word list: `en`, `de`, `es`, `fr`, `it`,
    `nl`, `pl`, `pt`, `sv`, or a file with one word per line, the most frequent first. Only the
    order of words matters.
    """
    rarity: Annotated[float, Ge(0), Le(1)] = 0.0
    """`listed`, `binary`: weight a word by its document frequency, estimated from its rank in the
    list, to the power of minus this number; 0.3 works well. A hashed word has the weight of its
    bucket, computed from all words of the list in that bucket.
    """
    counts: Literal["presence", "counts", "sublinear"] = "presence"
    """`binary`, `listed`: value of a word in its row: 1 if it occurs, its count, or 1 + ln(count).
    """
    ngrams: Annotated[int, Ge(1), Le(5)] = 1
    """`binary` with `words = "unicode"`: also hash n-grams of up to this number of words into the
    same buckets; 2: words and pairs.
    """
    characters: Many[Annotated[int, Ge(2), Le(20)]] = ()
    """`binary` with `words = "unicode"`: also hash character n-grams of words into the same
    buckets: minimum and maximum length, such as `[3, 5]`. The start and the end of a word count as
    one character each.
    """
    words: Literal["letters", "unicode"] = "letters"
    """`binary`, `listed`, `sequence`: definition of a word. `letters`: runs of the letters a-z, as
    in the paper. `unicode`: words of any script, numbers, hashtags and emoji
    ([data.md](guides/data.md)). `tacit init` writes `unicode`.
    """
    base: Annotated[int, Ge(2), Le(1_000_003)] = 31
    """`letters`: base of the rolling hash."""
    length: Annotated[int, Ge(1), Le(100_000)] = 300
    """`sequence`, `words`, `pieces`: maximum number per row; longer texts are truncated. `encoder`:
    maximum number of word pieces, at most what the network can read; fewer are faster.
    """
    stop_words: bool = False
    """Remove common English words first."""
    min_count: Count = 1
    """`words`: words with a smaller count than this in a client's own training texts are treated as
    unknown. If word vectors are shared (`private.words` is not `all`), the count is over all
    training texts.
    """
    numeric: Literal["minmax", "robust", "raw"] = "minmax"
    """`minmax`: scale each column to 0…1 by its range. `robust`: scale it to -1…1 by its 1st and
    99th percentiles, so that a few outliers do not flatten it. `raw`: no scaling. `tacit init`
    writes `robust`.
    """
    ranges: Annotated[dict[Name, tuple[float, float]], ListedEach] = field(default_factory=dict)
    """`minmax`, `robust`: known minimum and maximum of columns, which must not be computed from
    rows. The range of any other column is read from the training rows in the clear.
    """
    missing: Many[Name] | None = None
    """Numeric columns with missing values: each has an additional input that marks missing values,
    which are imputed by the middle of the column's range. Default: the columns in which training
    rows have missing values, which is read in the clear.
    """
    categorical: Literal["codes", "onehot"] = "onehot"
    """One input per category (`onehot`), or one number per column (`codes`). The categories are
    read in the clear.
    """
    category_clients: Count = LEAST_CLIENTS
    """Minimum number of clients that have a category, for the model to know it and name it in its
    files; at most half of all clients. Without a client column, rows are counted. Rarer categories
    are treated as unknown, like those absent from training rows. Named data sets are public, and
    all their categories are known. At a site, the owner's `limits.min_clients_per_value` applies
    instead.
    """
    image: Name = "pixels"
    """Features of images: the brightness of each pixel, 0…1 (`pixels`); or the output of a frozen
    network: `efficientnet_lite0` (1,280 numbers), or a folder with an image network that
    `transformers` can load. Outputs are computed once and cached.
    """
    project: Count | None = None
    """Project image features to this number of dimensions, along directions computed from the
    server's public rows (`[public]`).
    """
    directions: Literal["strongest", "classes"] = "strongest"
    """`project`: the principal components of these rows, or the directions that best separate their
    classes (at most one fewer than there are classes).
    """
    standardise: bool = False
    """`project`: scale each dimension to standard deviation 1 on the public rows."""
    row_norm: Positive | None = None
    """Scale each row's features to this L2 norm, after any projection, so that the gradients of
    rows have similar norms. Not for sequences.
    """
    constant: Annotated[float, Ge(0), Le(100)] = 0.0
    """Add one input with this value to every row, instead of a bias: with `model.bias = false`, a
    value of 0.1 takes up little of an update's L2 norm. Not for sequences.
    """
    quantise: Quantise | None = None

    @property
    def word_form(self) -> WordForm | None:
        """How words are read; None if only an encoder reads the text."""
        match self.text:
            case "encoder":
                return None
            case "encoder+listed":
                return "listed"
            case "encoder+binary":
                return "binary"
            case _:
                return self.text

    @property
    def is_bought(self) -> bool:
        """Whether ranges, categories and classes are bought from the run's epsilon."""
        match self.fit:
            case "clear":
                return False
            case "private":
                return True
            case _:
                assert_never(self.fit)

    @property
    def has_encoder(self) -> bool:
        """Whether a frozen encoder reads the text."""
        return self.text.startswith("encoder")


def problems(plan: Plan) -> list[str]:
    """List settings under which rows cannot become the model's inputs, one sentence each."""
    quantise = _quantise(plan, plan.features.quantise) if plan.features.quantise else ()
    found = [
        *_unread(plan),
        *text_problems(plan.features),
        *_projection(plan),
        *_ranges(plan.features),
        *_fit(plan),
        *quantise,
    ]
    if plan.features.min_count > 1 and plan.features.text != "words":
        found.append(
            f"features.min_count requires features.text = 'words', got {plan.features.text!r};"
            " remove it"
        )
    return found


def text_problems(features: Features) -> list[str]:
    """List contradictory settings of text features, one sentence each."""
    return [*_words(features), *_list(features), *_terms(features), *_encoder(features)]


def _encoder(features: Features) -> list[str]:
    if features.encoder_norm == 1 or (features.has_encoder and features.word_form):
        return []
    return [
        "features.encoder_norm requires an encoder and words, such as features.text = ['encoder',"
        f" 'listed'], got {features.text!r}; remove it"
    ]


def _unread(plan: Plan) -> list[str]:
    text, model = plan.features.text, plan.model
    if text in model.reads:
        return []
    fitting = " or ".join(repr(word) for word in model.reads)
    return [f"features.text must be {fitting} with model.name = {model.name!r}, got {text!r}"]


def _words(features: Features) -> list[str]:
    if features.words == "letters" or features.word_form is None:
        return []
    if features.word_form in ("words", "pieces"):
        return [
            f"features.words cannot be used with features.text = {features.text!r}, whose words"
            " are the model's own; remove it"
        ]
    no_base = (
        "features.base cannot be used with features.words = 'unicode', which has its own hash;"
        " remove it"
    )
    no_stops = (
        "features.stop_words requires features.words = 'letters', since the list is of English"
        " words; remove one of them"
    )
    return [
        *([no_base] if features.base != 31 else ()),
        *([no_stops] if features.stop_words else ()),
    ]


def _list(features: Features) -> list[str]:
    if features.word_form == "listed":
        required = (
            "features.list is required with features.text = 'listed': a language such as 'en', or a"
            " file with one word per line"
        )
        return [] if features.list else [required]
    if features.word_form == "binary":
        if features.rarity and not features.list:
            return [
                f"features.rarity = {features.rarity:g} requires a public word list; set"
                " features.list, such as 'en'"
            ]
        if features.list and not features.rarity:
            return [
                "features.list requires features.rarity if features.text = 'binary'; use 'listed' or"
                " remove it"
            ]
        return []
    return _meaningless(features, "list", "rarity")


def _terms(features: Features) -> list[str]:
    """List contradictory settings of counts and n-grams."""
    if features.word_form not in ("binary", "listed"):
        return _meaningless(features, "counts", "ngrams", "characters")
    if features.word_form == "listed":
        return _meaningless(features, "ngrams", "characters")
    found = [
        f"features.{key} requires features.words = 'unicode', since 'letters' keeps the published"
        " hash; set it or remove this"
        for key in ("ngrams", "characters")
        if features.words == "letters" and key in _set(features)
    ]
    if features.characters and (
        len(features.characters) != 2 or features.characters[0] > features.characters[1]
    ):
        found.append(
            "features.characters must be the minimum and maximum length of an n-gram, such as"
            f" [3, 5], got {[*features.characters]}"
        )
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
        f"features.{key} cannot be used with features.text = {features.text!r}; use {fitting[key]}"
        " or remove it"
        for key in keys
        if key in _set(features)
    ]


def _set(features: Features) -> set[str]:
    """The keys of text features that differ from their defaults."""
    return {
        key
        for key in ("list", "rarity", "counts", "ngrams", "characters")
        if getattr(features, key) != getattr(Features, key)
    }


def _projection(plan: Plan) -> list[str]:
    found, features = [], plan.features
    if features.project is not None and plan.public is None:
        found.append(
            f"features.project = {features.project} requires a [public] table, since directions are"
            " computed from public rows"
        )
    for key in ("standardise", "directions"):
        if features.project is None and getattr(features, key) not in (False, "strongest"):
            found.append(f"features.{key} requires features.project; set it or remove this")
    return found


def _ranges(features: Features) -> list[str]:
    found = [
        f"features.ranges.{name} must have a maximum above its minimum, got {low:g} and {high:g}"
        for name, (low, high) in features.ranges.items()
        if not low < high
    ]
    if features.ranges and features.numeric == "raw":
        found.append(
            "features.ranges cannot be used with features.numeric = 'raw', which scales nothing;"
            " remove one of them"
        )
    return found


def _fit(plan: Plan) -> list[str]:
    """List settings with which features cannot be bought, and values that contradict each other."""
    features, found = plan.features, list[str]()
    if len(features.classes) == 1 or len(set(features.classes)) < len(features.classes):
        found.append("features.classes must be at least two different classes")
    found += [
        f"features.{key} cannot be combined with [schema], which states them; remove one of them"
        for key in ("classes", "categories")
        if getattr(features, key) and plan.schema is not None
    ]
    if not features.is_bought:
        return found
    unfit = {
        "privacy.preset = 'private'": plan.privacy is None or plan.privacy.preset != "private",
        "codec.name = 'dp_sum'": plan.codec.name != "dp_sum",
        "regime = 'federated'": plan.regime != "federated",
        "server.cohort = 'all'": plan.server.cohort != "all",
        "features.text of words or an encoder, not a word table": features.text
        in ("sequence", "words", "pieces"),
        "no images": plan.data.columns.image is not None,
        "no features.quantise": features.quantise is not None,
        "no [data.share]": plan.data.share is not None,
        "no [filter]": plan.filter is not None,
        "no [corrupt]": plan.corrupt is not None,
        "no audit.canaries": plan.audit.canaries is not None,
        "features.numeric = 'robust' or 'raw'": features.numeric == "minmax",
        "data.deal = 'once'": plan.data.deal != "once",
    }
    return [
        *found,
        *(
            f"features.fit = 'private' requires {what}"
            for what, lacking in unfit.items()
            if lacking
        ),
    ]


def _quantise(plan: Plan, settings: Quantise) -> list[str]:
    found, coins = [], settings.selection != "finest"
    if plan.features.numeric != "minmax":
        found.append(
            "features.quantise requires features.numeric = 'minmax', since channels divide a range;"
            f" got {plan.features.numeric!r}"
        )
    if plan.data.share is not None:
        coarser = plan.data.share.generalise
        shown = [name for name in settings.columns if coarser.get(name) != SUPPRESS] or (
            [] if settings.columns else ["all"]
        )
        if shown:
            found.append(
                "features.quantise.columns must be suppressed in disclosed rows, which are not"
                f" quantised (data.share.generalise: {SUPPRESS!r}); got {', '.join(shown)}"
            )
    if coins != (settings.mean_level is not None):
        found.append(
            "features.quantise.mean_level is required if features.quantise.selection is 'last_head'"
            f" or 'subset', and only then; got selection {settings.selection!r} and mean_level"
            f" {settings.mean_level}"
        )
    if settings.mean_level is not None and settings.mean_level > settings.levels:
        found.append(
            "features.quantise.mean_level must be at most features.quantise.levels ="
            f" {settings.levels}, got {settings.mean_level:g}"
        )
    return found
