"""Without PyTorch, the modules that import it are not collected, and the report says so."""

from importlib.util import find_spec

HAS_TORCH = find_spec("torch") is not None
WITH_TORCH = [
    *(f"src/equipoise/{path}" for path in ("deep", "training/deep_trainee.py", "experiments/deep_cfr/training.py")),
    *(f"tests/{path}" for path in ("helpers/sampling_laws.py", "twins/naive_deep.py")),
]
collect_ignore = [] if HAS_TORCH else WITH_TORCH


def pytest_report_header() -> str:
    """A line above the tests."""
    return "" if HAS_TORCH else "PyTorch is not installed: the deep tests are skipped (pip install 'equipoise[deep]')"
