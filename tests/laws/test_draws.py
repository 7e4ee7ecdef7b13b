"""Laws about who knows which randomness: no mix-up passes, and no message can be rebuilt from what the server knows."""

from collections.abc import Callable

import numpy as np
import pytest

from tacit.client import ClientRandomness
from tacit.protocol.round import State
from tacit.protocol.site import Client, Site
from tacit.randomness import ClientDraws, Draws, PublicDraws, ServerDraws
from tacit.testing import CHECKS
from tests import seeds
from tests.laws.codec_cases import ALL, at_client, built, label, subject
from tests.laws.swapped_draws import swapped
from tests.simulation.test_exchange import CLIENTS, learner, train_over

every = pytest.mark.parametrize("case", ALL, ids=label)
UPDATE = np.linspace(-1e-3, 1e-3, 50, dtype=np.float32)
SECRET = seeds.draws(11)
CHECKED = {"draws_are_typed", "client_noise_is_secret", "decoder_noise_is_secret"}


@every
@pytest.mark.parametrize("check", sorted(CHECKED))
def test_a_codec_passes(case, check) -> None:
    CHECKS[check](subject(case))


@every
def test_randomness_of_another_party_is_refused_wherever_it_is_passed(case) -> None:
    made = at_client(case)
    for name, call in swapped(made, UPDATE, made.empty(len(UPDATE))).items():
        assert _refused(call), f"{name} passed unnoticed"


def _refused(call) -> bool:
    try:
        call()
    except (TypeError, AttributeError):
        return True
    return False


def test_draws_without_a_key_draw_nothing() -> None:
    for kind in (Draws, ClientDraws, ServerDraws, PublicDraws):
        with pytest.raises(ValueError, match="without a key"):
            kind(b"").words(1)


def test_each_role_keeps_its_type_at_every_address_and_its_numbers() -> None:
    root = Draws.seeded(3).at("a")
    for made in (root.for_client(), root.for_server()):
        assert type(made.at("b", 1)) is type(made)
        assert made.at("b").words(4).tolist() == root.at("b").words(4).tolist()
    public = root.publish("b")
    assert type(public.at(1)) is PublicDraws
    assert public.key == root.sealed("b").key != root.key


@pytest.mark.slow
@every
def test_no_message_can_be_rebuilt_from_what_the_server_knows(case) -> None:
    """The server knows the update itself here, the plan, the terms, all public draws and every address, but no client's root.

    Each of its guesses is an address of the protocol under a key that it knows. Two independent bits of a case agree with a
    probability below 0.6, so 40 messages of at least one bit agree with a probability below 2^-29.
    """
    learned = learner("dense")
    train, site = train_over(learned, built(case))
    terms = train.agreement
    site = Site(terms, range(CLIENTS), SECRET, site.weights, learned)
    client, model = Client(site, site.slot(2), learned.worker()), np.zeros(learned.size, np.float32)
    update, rounds = np.linspace(-1e-3, 1e-3, learned.size, dtype=np.float32), range(1, 41)

    def messages(own: Callable[[int], ClientDraws]) -> bytes:
        made = (
            site.codec(n).encode(update, {}, own=own(n), public=terms.public.at(n, 2))
            for n in rounds
        )
        return b"".join(one.payload.tobytes() for one in made)

    asked = [
        train.build_request(State(round_no=n, cohort=np.arange(CLIENTS), model=model, optimizer={}))
        for n in rounds
    ]
    sent = b"".join(
        train.encode_update(client, model, update, request).payload.tobytes() for request in asked
    )
    digest = asked[0].digest

    def address(own: ClientRandomness, n: int) -> ClientDraws:
        return own.noise(terms.identity, n, train.name, digest)

    assert sent == messages(lambda n: address(client.slot.own, n)), (
        "noise comes from the client's root"
    )
    noisy = bool(at_client(case).variance(update).any())
    assert (sent != messages(lambda n: address(ClientRandomness(seeds.draws(12), 2), n))) == noisy
    for key in (terms.public.key, train.draws.key, Draws.seeded(0).key, terms.run.encode()):
        for path in (lambda n: address(client.slot.own, n).path, lambda n: (n, 2), lambda n: ()):
            guess = messages(lambda n, key=key, path=path: ClientDraws(key, path(n)))
            assert (guess != sent) == noisy, f"rebuilt from a key the server knows, at {path(1)}"
