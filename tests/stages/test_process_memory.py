"""Memory of a process with threads: what one thread gives back the others can use."""

from __future__ import annotations

import subprocess
import sys

import pytest

ARENAS = """
import ctypes, threading
from vedette.app.process import share_memory

{first}
gate = threading.Barrier(4)

def work():
    kept = [bytes(100_000) for _ in range(20)]
    gate.wait()

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc = ctypes.CDLL(None)
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="malloc_info is of glibc")
@pytest.mark.parametrize(("first", "is_one"), [("share_memory()", True), ("", False)])
def test_threads_share_one_store_of_memory(first: str, is_one: bool) -> None:
    child = [sys.executable, "-c", ARENAS.format(first=first)]
    told = subprocess.run(child, capture_output=True, text=True, timeout=60, check=True).stdout
    assert (told.count("<heap nr=") == 1) is is_one
