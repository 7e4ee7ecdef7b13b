"""Words that the documents and the code avoid, each with the field's term and the reason.

A pattern names the meaning that is avoided, not every use of the word: the length of a list, a
letter of the alphabet, "better than chance", Zipf's law and labels that enter a hash ("tacit secure
sum") stay. `find` returns what is left of them in a passage. `python -m tests.docs.vocabulary [folder …]` lists every place.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.docs.prose import ROOT, Passage, read_all


@dataclass(frozen=True)
class Term:
    """A pattern to avoid, what to write instead, and why."""

    pattern: re.Pattern[str]
    write: str
    reason: str


def _term(pattern: str, write: str, reason: str) -> Term:
    return Term(re.compile(pattern, re.IGNORECASE), write, reason)


PARTY = r"(?:client|site|server|helper|party|partie|owner|tester|contributor|member)s?"
STATISTICS = "the field's term; readers search for it"
PLAIN = "an everyday word in place of the subject of the sentence"

TERMS = (
    _term(
        r"\brooms?\b(?! (?:for|left|on|beside)\b)(?<!\bno room)(?<!with room)(?<!make room)",
        "package, module",
        "a package is not a room",
    ),
    _term(
        r"\b(?:in|of|out of|from|leaves?) (?:the|this) house\b|\bthe house\b",
        "package, project, repository",
        "a project is not a house",
    ),
    _term(r"\bwhole[- ]numbers?\b", "integer", STATISTICS),
    _term(r"\bwhole (?:steps|millionths|units)\b", "integer multiples of a step", STATISTICS),
    _term(
        r"\b(?:the|a|no|such|their|which|its|small|each) chance\b(?! alone)|\bwith chance (?:\d|\{|p\b|·)|\bchances\b|\bchances? (?:of|with which|that)\b(?! what)",
        "probability",
        STATISTICS,
    ),
    _term(
        r"(?<!Zipf's )(?<!by )\blaws? (?:of (?:the|a|an|each|one|all|its)|that is drawn|the program|linear|as|in whole|for values|above)\b|\b(?:output|realised|corner|exact|such a|own) laws?\b|\bsame law\b|\bthe law\b|\blaw's\b",
        "distribution",
        STATISTICS,
    ),
    _term(
        r"\bcuts? (?:each |every |its |the )?(?:update )?to (?:a|one|its|the|that|this|some)? ?(?:\w+ )?length\b|\blength cut\b",
        "clipped to L2 norm C",
        STATISTICS,
    ),
    _term(
        r"\bupdates?(?:'s?)? (?:of (?:a |bounded )?)?lengths?\b|\blengths? of (?:an |the |each |every |one )?(?:updates?|gradient|column|change)\b|\b(?:vector|direction|update)s? of (?:a )?length\b|\blength \(l2\)|\blargest length\b|\b(?:squared|clipped|mean|bounded in) length\b|\blengths? of 1?'?C",
        "L2 norm",
        STATISTICS,
    ),
    _term(
        r"\bnoise of (?:\d|\{|z\b|a standard)",
        "noise with standard deviation σ, noise multiplier z",
        "a number without its meaning",
    ),
    _term(
        r"\bthat goes? together\b|\bnoise that (?:fits|belongs) together\b",
        "correlated noise",
        STATISTICS,
    ),
    _term(
        r"\b(?:most|more|much) that (?:a|one) change of (?:the )?data can\b",
        "sensitivity",
        STATISTICS,
    ),
    _term(
        r"(?<!\btacit )\bsecure sums?\b|\bsecurely (?:added|summed)\b",
        "secure aggregation",
        STATISTICS,
    ),
    _term(
        r"\bmight have been asked\b",
        "sampling rate, subsampling, privacy amplification by subsampling",
        STATISTICS,
    ),
    _term(
        r"\btrust(?:ing|s)? nobody\b",
        "local DP; no trust in the server",
        "a trust model has a name",
    ),
    _term(r"\blean(?:s|ed|ing)? towards\b|\bvectors? that leans?\b", "biased towards", STATISTICS),
    _term(
        r"\b(?:signed|sealed|server's|site's|this very|a Tacit) letters?\b|\b(?:a|each|this|one|the|that) letter (?:of site|that|is|was|to|from|could|goes|about|has|if|as bytes|and its head|refused|between|in some)\b|\bletters? (?:of site|to (?:a|the|several)? ?sites?|refused|between|of \{\} bytes|from)\b|\b(?:passes|brings?|reads?|fetches|by|in|more objects than a) letters?\b(?! a-z| only| or| and)",
        "signed message",
        "a message between server and site",
    ),
    _term(
        r"\bquestions? (?:from|to|refused|is asked|goes?|travels?)\b|\b(?:another|a longer|same|each|every|the|a|this|server's) questions?\b(?! of trust)",
        "request",
        "the server sends requests",
    ),
    _term(
        rf"\banswers? (?:of|from|by) (?:an? |the |its |each |every |all |single )?{PARTY}\b|\b{PARTY}(?:'s|') answers?\b(?! to\b)|\b(?:an|its|every|each|single|stored|one) answers?\b(?! to\b)",
        "response, respond",
        "clients and sites send responses to requests",
    ),
    _term(
        r"\b(?:has|have|had|was|were|been|stays?|already|clients|will have|exchanges) paid\b|\bpaid (?:for|most|alike|so far)\b(?! (?:data|rows)\b)|\b(?:can(?:not)?|clients?|tester|must) pays?\b|\bpays (?:for|first|on|once)\b|\bpurses?\b",
        "charge (a budget); charged",
        "a privacy budget is charged",
    ),
    _term(
        r"\bwhat (?:it|this|that|they|an? \w+|one \w+|each \w+|the \w+|clients?) (?:\w+ )?costs?\b(?! (?:to|(?:in )?(?:time|memory|bytes|seconds))\b)",
        "privacy loss, charge",
        "cost has no unit",
    ),
    _term(
        r"\bmay cost more\b|\bcosts? (?:each|every|a|one|its|the) (?:person|client|tester|patient)s?\b",
        "privacy loss",
        "cost has no unit",
    ),
    _term(r"\blets? in\b|\bletting in\b", "admit; revoke", "access control has terms"),
    _term(r"\bseats?\b", "client", "one word per thing"),
    _term(
        r"\bparts? of (?:a|the|its|one) cohort\b|\bcohort'?s? parts?\b",
        "chunk",
        "one word per thing",
    ),
    _term(r"\bbut for\b", "except", "archaic; twice it hid a percentile"),
    _term(r"\bat either end\b", "percentile", STATISTICS),
    _term(
        r"\brows (?:\w+ )?(?:\w+ )?(?:is|are|was|were) tried on\b|\b(?:tried|try|tries) (?:it |them |\w+ model )?on (?:its|these|those|them|too)\b",
        "evaluated on held-out test rows",
        STATISTICS,
    ),
    _term(r"\bwho(?:m)?ever\b", "anybody who, the party that", PLAIN),
    _term(r"\bso many\b(?! that\b)", "the number itself, by name", PLAIN),
    _term(r"\bbeside\b", "next to, with, in addition to", "archaic"),
    _term(r"\btold\b(?! apart)", "informed, reported, stated", PLAIN),
    _term(
        r"\bin (?:one|other|two|single|somebody's|another's) hands?\b|\bchanges? hands\b",
        "held by one party",
        "an idiom",
    ),
    _term(
        r"\bgot (?:an)?others?\b|\bgot something else\b",
        "name what was received",
        "an error that names nothing",
    ),
    _term(
        r"\b(?:reckon(?:s|ed|ing)?|hitherto|wherefore|thereof|lest|nought)\b",
        "a current word",
        "archaic",
    ),
)


@dataclass(frozen=True)
class Finding:
    """A passage with a word to avoid."""

    passage: Passage
    term: Term
    excerpt: str

    def __str__(self) -> str:
        return (
            f"{self.passage.place}: …{self.excerpt}… write: {self.term.write} ({self.term.reason})"
        )


def find(passages: Iterable[Passage]) -> Iterator[Finding]:
    """Find every use of a word to avoid, in any passage."""
    for passage in passages:
        flat = passage.words
        for term in TERMS:
            for match in term.pattern.finditer(flat):
                excerpt = flat[max(0, match.start() - 30) : match.end() + 30]
                yield Finding(passage, term, excerpt)


def main(folders: list[str]) -> None:
    """Print what is left in some folders, or everywhere."""
    for finding in find(read_all(Path(ROOT / folder) for folder in folders or ["."])):
        print(finding)


if __name__ == "__main__":
    main(sys.argv[1:])
