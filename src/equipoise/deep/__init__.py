"""Networks that learn regrets (Deep CFR and SD-CFR). The only importer of torch."""

from __future__ import annotations

import os

from equipoise.core.errors import InputError

# Threads of torch that wait would otherwise spin, and take the cores from those that walk the tree.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
try:
    import torch as _torch  # noqa: F401
except ImportError:
    raise InputError("networks need PyTorch", remedy="install it: pip install 'equipoise[deep]'") from None
