"""What electricity is said to come to adds up as it is read."""

import pytest
from click.testing import CliRunner

from cabida.faces.cli import cli


@pytest.mark.parametrize(
    ("language", "said"), [("en", "in a building of PUE 1.4"), ("es", "en un edificio de PUE 1,4")]
)
def test_the_buildings_share_is_said_with_the_energy(language, said):
    words = ["cost", "energy", "--watts", "700", "--price", "0.15", "--lang", language]
    with_building = " ".join(CliRunner().invoke(cli, [*words, "--pue", "1.4"]).stdout.split())
    alone = " ".join(CliRunner().invoke(cli, words).stdout.split())
    assert said in with_building
    assert "PUE" not in alone
    assert ("8,584.8 kWh" if language == "en" else "8.584,8 kWh") in with_building
    assert ("6,132 kWh" if language == "en" else "6.132 kWh") in alone
