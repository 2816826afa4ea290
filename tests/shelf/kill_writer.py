"""What the tests of kills run: for each number it is told a process that writes without an end, saying what is kept."""

import os
import random
import signal
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "evidence"))

import logs
from test_price_book import offer, price_file

from cabida import evidence
from cabida.errors import CabidaError
from cabida.evidence import book, shelf, store, tracked
from cabida.evidence.quotes import keeping
from cabida.evidence.quotes.reading import read_quote

ROWS = 40  # of one import of prices, all of it or nothing
BRIEF = "name: night\nworkload: batch-inference\n"


def write(where, round_, folder, said):
    def tell(*words):
        os.write(said, (" ".join(map(str, words)) + "\n").encode())

    ready = random.Random(round_)
    number = 0
    while True:
        number += 1
        key = f"{round_}-{number}"
        match (number + round_) % 5 if number < 6 else ready.randrange(5):
            case 0:
                many = [offer(provider=key, region=str(at)) for at in range(ROWS)]
                book.add(price_file(*many, sha=f"{key:0>64}"), where)
                tell("prices", key)
            case 1:
                text = (
                    f"vendor: V\nquote_id: Q{key}\npurpose: buy\naccelerator: l40s\naccelerators_count: 8\n"
                )
                keeping.keep([read_quote("q.yaml", text=text)], where)
                tell("quote", f"Q{key}")
            case 2:
                log = Path(folder) / f"{key}.log"
                log.write_text(logs.VLLM_REFUSED.replace("4.51", f"4.{1000 * round_ + number:09}"))
                (id,) = store.add(evidence.read_file(log), where)
                tell("observation", id)
            case 3:
                tracked.keep(key, "o", [{"month": str(at)} for at in range(3)], where)
                tell("months", key)
            case _:
                made = shelf.add_brief(key, BRIEF, by="ana", store=where)
                tell("brief", made.id, 1)
                shelf.change_brief(made.id, version=1, text=BRIEF + "# more\n", by="bo", store=where)
                tell("brief", made.id, 2)


def warm(where, folder):
    """Import what is imported late, so that the first writer isn't killed while it does."""
    tracked.keep("warm", "o", [{"month": "1"}], where)
    keeping.keep([read_quote("q.yaml", text="vendor: V\naccelerator: l40s\naccelerators_count: 8\n")], where)
    log = Path(folder) / "warm.log"
    log.write_text(logs.VLLM_REFUSED)
    store.add(evidence.read_file(log), where)
    shelf.add_brief("warm", BRIEF, by="ana", store=where)
    book.add(price_file(offer()), where)


def main(folder):
    """A process for each line of standard input, ``NUMBER STORE``; its connections are its own."""
    import psycopg  # noqa: F401
    from sqlalchemy.dialects.postgresql import psycopg as dialect  # noqa: F401

    warm(Path(folder) / "warm.db", folder)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    for line in sys.stdin:
        number, where = line.split()
        said = os.open(Path(folder) / f"{number}.said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        child = os.fork()
        if not child:
            try:
                write(where, int(number), folder, said)
            except CabidaError as gone:
                print(gone, file=sys.stderr)
            finally:
                os._exit(0)
        os.close(said)
        print(child, flush=True)


main(*sys.argv[1:])
