"""What people import and type: the names, the commands, and what loading them costs."""

import subprocess
import sys

import pytest

import cabida
from cabida.faces.cli import COMMANDS

NOT_FUNCTIONS = {"facts": "the room cabida.facts, whose functions the command's three subcommands are"}
FACES = ("serve", "mcp")  # other faces of the same use cases: nothing to call
VERBS = {  # what their subcommands are called as functions
    "bench": ("plan", "run", "report", "export", "selftest"),
    "quote": ("template", "add", "audit", "compare"),
    "launch": ("files",),
    "store": ("backup", "restore", "export", "import"),
}
HEAVY = ("numpy", "pydantic", "yaml", "rich", "jinja2", "numba", "cabida.facts", "cabida.app")


def test_the_surface_is_small_and_sorted():
    assert cabida.__all__ == sorted(cabida.__all__)
    functions = [name for name in cabida.__all__ if name[0].islower()]
    assert len(functions) < 68
    assert set(cabida.__all__) <= set(dir(cabida))
    with pytest.raises(AttributeError, match="no attribute 'advise'"):
        _ = cabida.advise


@pytest.mark.parametrize("name", cabida.__all__)
def test_each_public_name_is_there_and_says_what_it_is(name):
    found = getattr(cabida, name)
    assert name == "__version__" or (found.__doc__ and found.__doc__.strip())


@pytest.mark.parametrize("command", [one for one in COMMANDS if one not in FACES])
def test_each_command_is_also_a_function(command):
    found = getattr(cabida, command, None)
    if command in VERBS:
        assert {f"{command}_{one}" for one in VERBS[command]} <= set(cabida.__all__)
    elif command in NOT_FUNCTIONS:
        assert found.__name__ == "cabida.facts"
        assert all(callable(getattr(found, name)) for name in ("accelerators", "accelerator", "check"))
    else:
        assert callable(found)
        assert command in cabida.__all__


@pytest.mark.parametrize(
    "code",
    [
        "import cabida",
        "from cabida.faces.cli import cli; cli.main(['--help'], standalone_mode=False)",
        "from cabida.faces.cli import cli; cli.main(['--help', '--lang', 'es'])",
        "from cabida.faces.cli import cli; cli.main(['recommend', '--help'])",
        "from cabida.faces.cli import cli; cli.main(['fit', '--help'])",
    ],
)
def test_asking_for_help_loads_nothing_heavy(code):
    check = (
        "import sys\n"
        f"try:\n    {code}\nexcept SystemExit as done:\n    assert done.code == 0\n"
        f"loaded = sorted(set({HEAVY!r}) & set(sys.modules))\n"
        "assert not loaded, loaded\n"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_estimate_prints_as_a_figure_with_its_interval():
    from cabida.plan import Estimate

    assert f"{Estimate(1.00425, 0.72959, 4.0718, 'simulated')}" == "1.004 [0.7296–4.072] (simulated)"
