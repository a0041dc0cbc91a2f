"""A crowd on a few clones: a fixed sample of histories. `test/crowd/crowd.py` plays more and larger ones."""
import pytest

import crowd
from test_power import FAULTS, needs_faults


@needs_faults
@pytest.mark.parametrize("first", range(0, 12, 4))
def test_a_week_without_a_violation(first):
    bad, done = crowd.run(FAULTS, range(first, first + 4), clones=3, agents=6, turns=24, jobs=1, tell=lambda text: None)
    assert not bad, bad[0]
    assert done["claims"] > 10 and done["crashes"] > 3, done


def test_the_shortest_history_is_found():
    """Delta debugging keeps only the turns without which the history does not fail."""
    assert crowd.shortest(list(range(20)), lambda some: {3, 11, 17} <= set(some)) == [3, 11, 17]
    played = []
    assert crowd.shortest(list(range(20)), lambda some: played.append(some) or {3, 11} <= set(some), 11) == [3, 11]
    assert max(map(len, played)) == 12  # nothing after the turn that failed is played again


def test_a_seed_always_gives_the_same_history():
    assert crowd.history(7, 3, 6, 24) == crowd.history(7, 3, 6, 24) != crowd.history(8, 3, 6, 24)
