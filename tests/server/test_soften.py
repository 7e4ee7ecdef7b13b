import numpy as np
import pytest

from tacit import plan, server
from tests import seeds


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("optimizer", "momentum"), [("sgd", 0.9), ("momentum", 0.0), ("momentum", 0.8)]
)
def test_the_noise_in_a_weight_is_what_steps_of_noise_leave(optimizer, momentum):
    """200,000 weights; their spread is off by more with a probability of 5e-7."""
    settings, random = (
        plan.Server(optimizer=optimizer, momentum=momentum, lr=0.7, soften=0.3),
        seeds.generator(1),
    )
    model = np.zeros(200_000, np.float32)
    optimizer = server.build_optimizer(settings)
    state = optimizer.init(model)
    for _ in range(12):
        model, state = optimizer.update(
            model, random.normal(0, 2, len(model)).astype(np.float32), state
        )
    assert optimizer.noise is not None
    assert optimizer.noise(2.0, 12) == pytest.approx(
        model.std(), rel=seeds.deviations() / np.sqrt(2 * len(model))
    )
    assert (state[server.FIRST] == 0).all()


def test_weights_are_pulled_to_where_they_began_and_not_past_it():
    first, model = np.array([1, 1, 1, 1], np.float32), np.array([4, -2, 1.4, 1], np.float32)
    np.testing.assert_allclose(server.soften_model(model, first, 1.0), [3, -1, 1, 1])
