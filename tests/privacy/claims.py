"""Claims for tests, with only what a test cares about spelt out."""

from tacit.privacy.claim import Claim, Event, Relation

REPLACE: Relation = "replace all rows of one client"
ADD: Relation = "add or remove one client"


def claim(
    event: Event,
    unit: str = "update",
    relation: Relation = REPLACE,
    mechanism: str = "some mechanism",
) -> Claim:
    return Claim(
        mechanism=mechanism, event=event, unit=unit, relation=relation, view="server", trust=("the server",), rests_on="server",
        source="a test",
    )  # fmt: skip
