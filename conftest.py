"""Without PyTorch, the modules that import it are not collected, and the report says so."""

from importlib.util import find_spec

HAS_TORCH = find_spec("torch") is not None
WITH_TORCH = ["deep", "training/deep_trainee.py", "experiments/deep_cfr/training.py"]
collect_ignore = [] if HAS_TORCH else [f"src/equipoise/{path}" for path in WITH_TORCH]


def pytest_report_header() -> str:
    """A line above the tests."""
    return "" if HAS_TORCH else "PyTorch is not installed: the deep tests are skipped (pip install 'equipoise[deep]')"
