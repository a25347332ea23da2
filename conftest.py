"""Without PyTorch, the modules that import it are not collected, and the report says so."""

from importlib.util import find_spec

HAS_TORCH = find_spec("torch") is not None
collect_ignore = [] if HAS_TORCH else ["src/equipoise/deep", "src/equipoise/training/deep_trainee.py"]


def pytest_report_header() -> str:
    """A line above the tests."""
    return "" if HAS_TORCH else "PyTorch is not installed: the deep tests are skipped (pip install 'equipoise[deep]')"
