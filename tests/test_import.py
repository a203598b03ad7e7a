import importlib
import importlib.metadata
import subprocess
import sys

import pytest

import lacunet

HEAVY = ("numpy", "scipy", "sklearn", "torch")


def heavy_modules_after(statement):
    """Names of HEAVY that a fresh interpreter has loaded after the statement."""
    program = (
        f"import sys\n{statement}\n"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    "statement",
    [
        "import lacunet",
        "import lacunet; dir(lacunet)",
        "import lacunet; lacunet.__version__",
        "import lacunet; hasattr(lacunet, 'nothing_of_that_name')",
    ],
)
def test_heavy_packages_are_not_loaded_by(statement):
    assert heavy_modules_after(statement) == []


@pytest.mark.slow
def test_using_a_layer_is_what_loads_torch():
    assert "torch" in heavy_modules_after("import lacunet; lacunet.nn")


def test_a_heavy_package_would_be_noticed():
    assert heavy_modules_after("import numpy") == ["numpy"]


def test_unknown_name_raises_an_error_that_lists_the_known_ones():
    with pytest.raises(AttributeError, match="'adpt'; it has .*adapt"):
        lacunet.adpt  # noqa: B018


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("datasets", "lacunet.missingness"),
        ("experiments", "python -m reproduction list"),
        ("results", "reproduction"),
    ],
)
def test_rooms_that_moved_say_where_they_are(name, place):
    with pytest.raises(AttributeError, match=place):
        getattr(lacunet, name)
    with pytest.raises(ImportError, match=place):
        importlib.import_module(f"lacunet.{name}")


@pytest.mark.parametrize("name", lacunet.__all__)
def test_public_name_resolves_to_itself(name):
    value = getattr(lacunet, name)
    assert getattr(lacunet, name) is value
    if name != "__version__":
        assert value.__name__.rpartition(".")[2] == name


def test_dir_is_all():
    assert dir(lacunet) == sorted(lacunet.__all__)


def test_version_is_that_of_the_installed_distribution():
    assert lacunet.__version__ == importlib.metadata.version("lacunet")
