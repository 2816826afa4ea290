"""The real llama.cpp server as replicas.sh starts an engine: --host HOST --port PORT; it logs to standard output."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "engines"))
import llama_server

if __name__ == "__main__":
    said = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    llama_server.main(said["--port"], os.devnull, "/dev/stdout", "1024")
