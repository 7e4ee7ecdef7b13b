"""Sets for `python -m bench defaults --grid` that nobody has to fetch: scikit-learn's breast cancer
table, and made-up ones.

A made-up set has a seed of its own, so it is the same everywhere. `rare` is a table of 12 numbers
with 1 % positive rows. `emoji` are short messages of two moods, told apart by emoji. `russian` and
`chinese` are short texts of four topics, made of words of the topic among common words of the
language.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from bench import ROOT

SETS = ROOT / "bench" / "out" / "sets"
_TEXTS = 8_000


@dataclass(frozen=True)
class MadeUpSet:
    """A set that is made here: its rows, what its columns are for, and whether its texts are
    English words.
    """

    make: Callable[[], pl.DataFrame]
    text: bool


def file_of(name: str) -> Path:
    """The CSV file of a made set, written on first use."""
    path = SETS / f"{name}.csv"
    if not path.exists():
        SETS.mkdir(parents=True, exist_ok=True)
        MADE[name].make().write_csv(path)
    return path


def _breast_cancer() -> pl.DataFrame:
    from sklearn.datasets import load_breast_cancer

    given = load_breast_cancer()
    columns = {f"x{number}": given.data[:, number] for number in range(given.data.shape[1])}
    return pl.DataFrame({**columns, "label": np.where(given.target == 0, "malignant", "benign")})


def _rare() -> pl.DataFrame:
    random = np.random.default_rng(3)
    rows = 12_000
    positive = random.random(rows) < 0.01
    numbers = random.normal(size=(rows, 12))
    numbers[:, :5] += positive[:, None] * np.array([2.2, 1.8, -1.5, 1.2, 1.0])
    numbers[:, 5] = np.exp(numbers[:, 5])
    numbers[:, 6:9] = 100 * random.random((rows, 3))
    columns = {f"x{number}": numbers[:, number] for number in range(12)}
    return pl.DataFrame({**columns, "label": np.where(positive, "yes", "no")})


def _emoji() -> pl.DataFrame:
    moods = {"glad": "😀😄😍🥳👍🎉❤😂🌞💯", "cross": "😡😢👎💔😤🤬😞🙄💩😭"}
    common = _words("ok so the bus was there again today and we went home after it all now then")
    return _texts({mood: list(signs) for mood, signs in moods.items()}, common, mistaken=0.04)


def _russian() -> pl.DataFrame:
    topics = {
        "спорт": _words(
            "матч гол команда тренер игрок победа турнир стадион вратарь чемпион лига кубок счёт"
            " судья"
        ),
        "наука": _words(
            "учёные исследование опыт теория данные космос физика открытие лаборатория атом"
            " клетка ген"
        ),
        "деньги": _words(
            "банк рубль рынок цена налог бюджет акция кредит биржа прибыль доход экспорт инфляция"
        ),
        "погода": _words(
            "дождь снег ветер мороз облако гроза солнце туман жара осадки прогноз лёд буря"
        ),
    }
    common = _words(
        "и в не на что с по это как но из у за от так для бы его же был была сегодня вчера очень"
        " ещё уже можно год день"
    )
    return _texts(topics, common, mistaken=0.03)


def _chinese() -> pl.DataFrame:
    topics = {
        "体育": _words("比赛 进球 球队 教练 球员 胜利 决赛 球场 冠军 联赛 裁判 得分"),
        "科学": _words("科学 研究 实验 理论 数据 宇宙 物理 发现 细胞 基因 原子 学者"),
        "财经": _words("银行 市场 价格 股票 税收 预算 贷款 利润 出口 通胀 经济 投资"),
        "天气": _words("下雨 大雪 大风 寒冷 云层 雷雨 太阳 雾气 高温 预报 冰雹 暴雨"),
    }
    common = _words(
        "的 了 在 是 我们 他们 今天 昨天 非常 可以 因为 所以 这个 那个 已经 还有 一年 一天 大家 认为"
    )
    return _texts(topics, common, mistaken=0.03, joint="")


def _words(listed: str) -> list[str]:
    return listed.split()


def _texts(
    words: dict[str, list[str]], common: list[str], *, mistaken: float, joint: str = " "
) -> pl.DataFrame:
    """Texts of 4 to 14 common words and one to three of their topic; a share of topic words is of
    any topic.
    """
    random = np.random.default_rng(5)
    names, anything = list(words), [word for some in words.values() for word in some]
    found = []
    for _ in range(_TEXTS):
        name = names[random.integers(len(names))]
        some = [
            anything if random.random() < 5 * mistaken else words[name]
            for _ in range(random.integers(1, 4))
        ]
        own = [one[random.integers(len(one))] for one in some]
        text = [
            *own,
            *(common[random.integers(len(common))] for _ in range(random.integers(4, 15))),
        ]
        random.shuffle(text)
        found.append({"text": joint.join(text), "label": name})
    return pl.DataFrame(found)


MADE = {
    "breast_cancer": MadeUpSet(_breast_cancer, text=False),
    "rare": MadeUpSet(_rare, text=False),
    "emoji": MadeUpSet(_emoji, text=True),
    "russian": MadeUpSet(_russian, text=True),
    "chinese": MadeUpSet(_chinese, text=True),
}
