"""Claims of Zhang et al. (EMNLP 2022), and the cells that decide each."""

from __future__ import annotations

from tacit_papers.checks import Above, Alike, AtLeast, AtMost, Positive, Printed, Rises
from tacit_papers.claims import PaperClaim
from tacit_papers.fedvocab.attack_tables import BATCHES
from tacit_papers.fedvocab.differences import GLOBAL, LOCAL, minus
from tacit_papers.published import At

_MINILM = "MiniLM-L6 (the paper: DistilBERT)"
_LONG = (("SST-2", "minilm-sst2"), ("20News", "minilm-newsgroups20"))
"""Data sets, and the tables whose runs have the paper's rounds."""
_RIVALS = {
    "small-sst2": ("FedAvg", "FedProx", "LG-FedAvg", "FedRecon"),
    "small-newsgroups20": ("FedAvg", "FedRecon"),
    "small-ag_news": ("FedAvg", "LG-FedAvg", "FedRecon"),
}


def _leak(method: str, network: str, way: str) -> At:
    return At("ptlr", f"{method}, {network}", way)


def _read(method: str, way: str, batch: int) -> At:
    return At("batches", f"{method}, {way}", f"batch {batch}")


def _ahead(table: str, first: str, second: str, column: str) -> Positive:
    """The check that one method is better than another, seed by seed."""
    return Positive(At(f"{table}-differences", minus(first, second), column))


def _best(column: str, *tables: str) -> tuple[Positive, ...]:
    return tuple(
        _ahead(table, "FedVocab", rival, column) for table in tables for rival in _RIVALS[table]
    )


PRIVACY = (
    PaperClaim(
        claim=(
            "An attacker recovers almost none of FedVocab's private tokens: 1.3 % with DistilBERT,"
            " 1.2 % with a BiLSTM"
        ),
        where="Section 4.2, Table 2",
        checks=(
            AtMost(_leak("FedVocab", _MINILM, "public table"), 0.013),
            AtMost(_leak("FedVocab", "BiLSTM", "public table"), 0.012),
        ),
        refuted=(
            "the paper's attacker looks words up in another model's table; an attacker with the"
            " public table that all clients start from recovers them"
        ),
    ),
    PaperClaim(
        claim="Without the mapping of words to vectors the attack fails",
        where="Sections 3.2 and 4.2, Appendix A.3",
        checks=(
            AtMost(_leak("FedVocab, random start", "BiLSTM", "public table"), 0.012),
            AtMost(_leak("FedVocab", "BiLSTM", "wrong table"), 0.012),
        ),
        limit="an attack fails if it reads at most the 1.2 % of the paper's own",
        correction=(
            "only where tables start at random; the paper's start from public vectors, and then the"
            " mapping is known"
        ),
    ),
    PaperClaim(
        claim="FedAvg leaks 87.6 % of the private tokens with a BiLSTM",
        where="Section 4.2, Table 2",
        checks=(Printed(((_leak("FedAvg", "BiLSTM", "knows the table"), 0.876),)),),
    ),
    PaperClaim(
        claim="FedAvg leaks 88.2 % of the private tokens with DistilBERT",
        where="Section 4.2, Table 2",
        checks=(AtLeast(_leak("FedAvg", _MINILM, "knows the table"), 0.882),),
        sizes=(Printed(((_leak("FedAvg", _MINILM, "knows the table"), 0.882),)),),
    ),
    PaperClaim(
        claim="FedRecon hides the private tokens (2 % are recovered), but not the other words",
        where="Section 4.2, Table 2, Appendix B.3",
        checks=(
            AtMost(_leak("FedRecon", _MINILM, "public table"), 0.024),
            AtMost(_leak("FedRecon", "BiLSTM", "public table"), 0.021),
            Above(
                At("f1", "FedRecon, encoder", "public table, recall"),
                _leak("FedRecon", _MINILM, "public table"),
            ),
        ),
        limit="2 % are the printed 2.4 % and 2.1 %",
    ),
    PaperClaim(
        claim=(
            "Fewer tokens are recovered than with FedRecon, the best earlier method: 80.1 % fewer"
            " on average"
        ),
        where="Section 1, Figure 3",
        checks=(Above(_read("FedRecon", "public table", 1), _read("FedVocab", "public table", 1)),),
        refuted=(
            "with the same dictionary, at least as many words are recovered from FedVocab as from"
            " FedRecon"
        ),
    ),
    PaperClaim(
        claim=(
            "The gradient of a shared table alone reveals its words; a private table reveals"
            " nothing in this way"
        ),
        where="Sections 1 and 4.2",
        checks=(
            Above(
                _read("FedAvg", "table rows", BATCHES[-1]),
                _read("FedVocab", "table rows", BATCHES[-1]),
            ),
            AtMost(_read("FedVocab", "table rows", BATCHES[-1]), 0.0),
        ),
    ),
    PaperClaim(
        claim="Larger batches make recovery harder",
        where="Section 4.2, Figure 3",
        checks=(
            Rises(tuple(_read("FedAvg", "knows the table", batch) for batch in reversed(BATCHES))),
        ),
        correction="not for an attacker that sees which rows of a shared table have a gradient",
    ),
    PaperClaim(
        claim="FedVocab's protection does not depend on the batch size",
        where="Section 4.2, Figure 3",
        checks=(
            Alike(
                _read("FedVocab", "public table", 1),
                _read("FedVocab", "public table", BATCHES[-1]),
                0.01,
            ),
        ),
        limit="shares within one point do not depend on the batch",
        refuted="small batches are recovered, large ones are not",
    ),
    PaperClaim(
        claim="Gradients of shared parameters may still reveal attributes of the texts",
        where="Limitations",
        checks=(
            Above(
                At("attribute", "FedVocab", "in the clear"),
                At("attribute", "FedVocab", "one bit, epsilon 1 per bit"),
            ),
        ),
        refuted=(
            "our attacker is weak: it learns nothing here, which does not prove that no attacker"
            " can"
        ),
    ),
)
UTILITY = (
    PaperClaim(
        claim="With a BiLSTM, FedVocab has the best global accuracy of all methods",
        where="Section 4.3, Table 4",
        checks=_best(GLOBAL, "small-sst2", "small-newsgroups20"),
        refuted="a private table is trained on its client's labels only, and learns them",
    ),
    PaperClaim(
        claim="With a BiLSTM, FedVocab has the best local accuracy of all methods",
        where="Section 4.3, Table 4",
        checks=_best(LOCAL, "small-sst2", "small-newsgroups20"),
    ),
    PaperClaim(
        claim="With a pretrained transformer, FedVocab's local accuracy is above FedAvg's",
        where="Section 4.3, Table 3",
        checks=tuple(
            _ahead(table, "FedVocab", "FedAvg", LOCAL)
            for table in ("small-minilm-sst2", "small-minilm-newsgroups20")
        ),
    ),
    *(
        PaperClaim(
            claim=f"With a pretrained transformer, FedVocab's local accuracy is above FedAvg's on {title} after 100 rounds",
            where="Section 4.3, Table 3",
            checks=(_ahead(table, "FedVocab", "FedAvg", LOCAL),),
        )
        for title, table in _LONG
    ),
    PaperClaim(
        claim=(
            "With a pretrained transformer, FedVocab's global accuracy is within .01 of the best"
            " baseline's"
        ),
        where="Section 4.3, Table 3",
        checks=(
            AtLeast(
                At("small-minilm-sst2-differences", minus("FedVocab", "FedAvg"), GLOBAL), -0.01
            ),
        ),
    ),
    *(
        PaperClaim(
            claim=(
                "With a pretrained transformer and the paper's rows per client, FedVocab is within"
                f" .01 of FedAvg's global accuracy on {title}"
            ),
            where="Section 4.3, Table 3",
            checks=(
                AtLeast(
                    At(f"rows-{table}-differences", minus("FedVocab", "FedAvg"), GLOBAL), -0.01
                ),
            ),
            sizes=(
                AtLeast(At(f"{table}-differences", minus("FedVocab", "FedAvg"), GLOBAL), -0.01),
            ),
        )
        for title, table in _LONG
    ),
    PaperClaim(
        claim="Without the adaptive pass FedVocab is worse",
        where="Section 4.5, Table 5",
        checks=tuple(
            _ahead(table, "FedVocab", "FedVocab, no adaptive pass", column)
            for table in ("small-sst2", "small-newsgroups20")
            for column in (GLOBAL, LOCAL)
        ),
        refuted="the pass trades global accuracy on SST-2 for local accuracy on both sets",
    ),
    PaperClaim(
        claim="Training together is far better than training alone on global accuracy",
        where="Section 4.3, Tables 3 and 4",
        checks=tuple(
            AtMost(
                At(f"{table}-differences", minus("Local only, 10 epochs", "FedAvg"), GLOBAL), 0.0
            )
            for table in ("small-sst2", "small-newsgroups20")
        ),
    ),
    PaperClaim(
        claim="Different public vectors at different clients cost a little accuracy on SST-2",
        where="Appendix B.2, Figure 6",
        checks=(
            _ahead(
                "ladder",
                "trained tables, adaptive pass",
                "varied public tables, adaptive pass",
                GLOBAL,
            ),
        ),
    ),
    PaperClaim(
        claim="The same holds for BERT-base",
        where="Appendix B.1, Table 6, Figure 5",
        untestable="no weights of BERT-base are available (docs/papers/stand-ins.md has the command)",
    ),
    PaperClaim(
        claim="With a BiLSTM, FedVocab has the best global accuracy on AG News too",
        where="Section 4.3, Table 4",
        checks=_best(GLOBAL, "small-ag_news"),
    ),
    PaperClaim(
        claim="With a BiLSTM, FedVocab has the best local accuracy on AG News too",
        where="Section 4.3, Table 4",
        checks=_best(LOCAL, "small-ag_news"),
    ),
)
COMMUNICATION = (
    PaperClaim(
        claim="A client sends 83 times less than with FedAvg",
        where="Abstract, Section 4.4, Figure 4",
        checks=(AtLeast(At("bytes", "FedAvg / FedVocab", "400,000 words, 300-d"), 83.0),),
        correction=(
            "with all 400,000 words of GloVe in the shared table; the paper's 1.41 MB are 1.45"
            " million parameters, 5.8 MB"
        ),
    ),
    PaperClaim(
        claim="FedVocab sends less than every other method",
        where="Section 4.4, Figure 4",
        checks=tuple(
            Above(
                At("bytes", f"{rival}, MB up", "400,000 words, 300-d"),
                At("bytes", "FedVocab, MB up", "400,000 words, 300-d"),
            )
            for rival in ("FedAvg", "FedProx", "FedRecon", "LG-FedAvg")
        ),
        refuted=(
            "LG-FedAvg sends what its split shares; if the reader is private, that is only the last"
            " layer"
        ),
    ),
)
CLAIMS = (*PRIVACY, *UTILITY, *COMMUNICATION)
