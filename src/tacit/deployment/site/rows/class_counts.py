"""The counts of equivalence classes over all sites, by which each decides which rows it discloses.

A site counts its own rows and splits the counts into sealed shares for the helpers. As a helper it
adds up shares of every member, once. It believes a sum only with the signatures of all helpers, and
only if the sum is possible.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.assembly.secure_sums import draw_helper_key
from tacit.data import k_anonymity
from tacit.data.k_anonymity import ClassSums
from tacit.data.k_anonymity.class_sums import ClassCounting, choose_counting
from tacit.deployment.agenda import COUNTS
from tacit.deployment.bodies import BeginRequest, ClassParts, Terms
from tacit.deployment.bodies import pack as pack_body
from tacit.deployment.bodies import unpack as unpack_body
from tacit.deployment.confirmation import check_confirmations
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.rows.site_rows import SiteRows, prepare_rows
from tacit.deployment.site.stored_runs import CONFIRMED, check_stored_confirmations
from tacit.errors import PolicyError, RequestError, WireError
from tacit.files import replace_file
from tacit.plan import Plan
from tacit.randomness import Draws
from tacit.secure_aggregation.site_sum import (
    SealedVector,
    SiteSumTerms,
    SumPart,
    add_vectors,
    read_sum,
    seal_vector,
    sign_part,
)

_LEAST_SITES, _LEAST_HELPERS = 3, 2
_SUMS, _ADDED = "class_counts", "class_counts_added"
"""Files in the folder of a run: the helpers' parts, and what this site added up as a helper."""


@dataclass(frozen=True, kw_only=True)
class CountingSite:
    """A site that counts classes together with the other members of a run; `digest` is that of plan
    and terms, `root` the run's randomness here.
    """

    owner: Owner
    plan: Plan
    terms: Terms
    digest: str
    rows: SiteRows
    root: Draws
    folder: Path

    def check_members(self) -> None:
        """Raise WireError or PolicyError unless the sum hides this site's counts: at least three
        members, all known to the owner, and two helpers among them.
        """
        members, peers = [member.site for member in self.terms.members], self.owner.peers()
        strangers = [site for site in members if site not in peers]
        if strangers:
            raise WireError(
                f"terms refused: [peers] of site.toml lacks {', '.join(strangers)}; a site that the"
                " server invents would show the counts of the others; add the key if you know it"
            )
        if len(members) < _LEAST_SITES:
            raise PolicyError(
                f"data.share.counts = 'global': the run has {len(members)} sites, and of two each"
                " learns the counts of the other; at least three must take part"
            )
        if len({*self.terms.helps}) < _LEAST_HELPERS:
            raise WireError("terms refused: one helper alone would see the counts of every site")

    def share(self, begin: BeginRequest) -> SealedVector:
        """This site's counts as sealed shares for the helpers; raise WireError unless all members
        have confirmed the terms.
        """
        self.check_members()
        check_confirmations(self.terms, self.digest, begin.confirmations, self.owner.peers())
        kept = BeginRequest(terms=begin.terms, confirmations=begin.confirmations)
        replace_file(self.folder / CONFIRMED, pack_body(kept))
        secret = self.root.sealed("class counts", self.owner.name).key
        return seal_vector(
            self._sum_terms, self.owner.name, self._count().numbers, secret, self.owner.signs_with
        )

    def add(self, vectors: Mapping[str, SealedVector]) -> SumPart:
        """As a helper, add up the shares of all members; once, for one set of vectors."""
        self.check_members()
        self._require_confirmations()
        if self.owner.name not in self.terms.helps:
            raise WireError("request refused: this site is not a helper of the run")
        asked = hashlib.sha256(
            b"".join(vectors[site].signature for site in sorted(vectors))
        ).digest()
        before = self.folder / _ADDED
        if before.exists() and before.read_bytes() != asked:
            raise RequestError(
                "answered", f"{COUNTS}: this helper added up other shares before; it does so once"
            )
        own = draw_helper_key(self.plan, self.root, self.owner.name)
        numbers = add_vectors(self._sum_terms, self.owner.name, own, vectors, self.owner.peers())
        replace_file(before, asked)
        return sign_part(self._sum_terms, self.owner.name, numbers, self.owner.signs_with)

    def accept(self, parts: Sequence[SumPart]) -> ClassSums:
        """The counts of all sites, from the helpers' parts, which are kept; raise WireError if they
        are not signed by all helpers, cannot be, or differ from those that were accepted before.
        """
        self._require_confirmations()
        file, given = self.folder / _SUMS, pack_body(ClassParts(parts=list(parts)))
        if file.exists() and file.read_bytes() != given:
            raise WireError(
                "class counts refused: this run began here with others; start the plan as a new run"
            )
        sums = self._read(parts)
        if not file.exists():
            sums.check(self._count(), self._rows)
            replace_file(file, given)
        return sums

    def load(self) -> ClassSums:
        """The counts that were accepted; raise RequestError if there are none yet."""
        file = self.folder / _SUMS
        if not file.exists():
            raise RequestError(
                "terms", "the sites have not agreed on class counts, so no row is disclosed"
            )
        return self._read(unpack_body(file.read_bytes(), ClassParts).parts)

    def _require_confirmations(self) -> None:
        check_stored_confirmations(self.folder, self.terms, self.digest, self.owner.peers())

    def _read(self, parts: Sequence[SumPart]) -> ClassSums:
        numbers = read_sum(self._sum_terms, parts, self.owner.peers())
        return ClassSums(counting=self._counting, numbers=numbers)

    def _count(self) -> ClassSums:
        first = self.terms.find_member(self.owner.name).first
        prepared = prepare_rows(self.plan, self.rows, self.terms, self.root, first)
        assert self.plan.data.share is not None, "a plan without [data.share] counts nothing"
        return k_anonymity.count_classes(
            prepared.table, prepared.clients, self.plan.data.share, self._rows, self.terms.public
        )

    @property
    def _rows(self) -> int:
        return sum(member.rows for member in self.terms.members)

    @property
    def _counting(self) -> ClassCounting:
        share, columns = self.plan.data.share, self.plan.data.columns
        assert share is not None, "a plan without [data.share] counts nothing"
        agreed = self.plan.agree_values(columns)
        classes = agreed.classes or tuple(self.terms.seen.classes)
        return choose_counting(share, self._rows, classes, self.terms.public)

    @property
    def _sum_terms(self) -> SiteSumTerms:
        terms = self.terms
        return SiteSumTerms(
            digest=self.digest,
            name=COUNTS,
            size=self._counting.size,
            sites=tuple(member.site for member in terms.members),
            helpers=tuple(terms.helps),
            keys=tuple(terms.helpers),
        )
