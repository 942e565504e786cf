"""One thread: tests must not depend on how many cores there are, and small products are faster so."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("tongsa", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("tongsa")
