"""Compiling works wherever the program runs."""

import numpy as np
import pytest

from cabida.timing import compiled as room

numba = pytest.importorskip("numba")


def doubled(value):
    return 2.0 * value


def test_without_a_folder_to_write_to_code_is_compiled_anew(monkeypatch):
    """A read-only home beside a read-only installation: numba finds nowhere to keep machine code."""
    plain = numba.njit

    def njit(*functions, cache=False, **settings):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return plain(*functions, **settings)

    monkeypatch.setattr(numba, "njit", njit)
    before = numba.config.CACHE_DIR
    assert room.compiled(doubled)(np.float64(1.5)) == 3.0
    assert before == numba.config.CACHE_DIR
