"""Hostile messages at each server and client: no traceback, nobody else harmed, and honest play as ever afterwards."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dose import doses
from hostile import (
    SEED,
    Report,
    attack_acpc_client,
    attack_acpc_dealer,
    attack_slumbot_client,
    attack_slumbot_server,
    mutate,
)

Campaign = Callable[[int, int], Report]
CAMPAIGNS = [attack_slumbot_server, attack_acpc_dealer, attack_slumbot_client, attack_acpc_client]


@pytest.mark.parametrize("campaign", CAMPAIGNS)
@doses(quick=300, long=20_000)
def test_hostile_messages(campaign: Campaign, tries: int, capfd: pytest.CaptureFixture[str]) -> None:
    report = campaign(tries, SEED)
    errors = capfd.readouterr().err
    print(report)
    assert report.messages >= tries
    assert errors == "", "nothing that peers send is worth a line of the server's own"
    assert len([count for count in report.outcomes.values() if count]) > 1, "all messages fared alike"


def test_the_generator_repeats_itself_and_changes_messages() -> None:
    import random

    text = b'POST /api/act HTTP/1.1\r\nHost: localhost\r\nContent-Length: 13\r\n\r\n{"incr": "c"}'
    first, again = ([mutate(rng, text) for _ in range(500)] for rng in (random.Random(1), random.Random(1)))
    assert first == again
    assert sum(message != text for message in first) > 400
    assert len(set(first)) > 400
