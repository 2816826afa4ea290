# ruff: noqa: E501 - tables
"""Ways to spoil what strangers send: each gives bytes from bytes, by a chance that a seed decides."""

import gzip
import io
import json
import random
import re
import zipfile
import zlib

LONGEST_BYTES, GIANT_BYTES, BOMB_BYTES = 60_000, 1_500_000, 30_000_000
NUMBERS = tuple(one.encode() for one in (
    "-1", "0", "-0.0", "1", "2", "7", "1e5", "1e308", "-1e308", "1e999", "-1e999", "1e-320", "NaN", "nan", ".nan", "Infinity",
    "-Infinity", "inf", ".inf", "9" * 30, "9" * 400, "9" * 5000, str(2**31), str(2**63), str(2**64), "0x10", "0o7", "1_000",
    "1,000.5", "1.000,5", "1.5.2", "1e", "--5", "\u0661\u0662\u0663", "\u00b2", "\u00bd", "\u2212 5", "12:30:00", "true", "null", "~", "''",
    "-5 GiB", "1e400 EUR", "-3 EUR/h", "5 %", "-5%", "0000-00-00", "9999-12-31", "2026-02-30", "10000-01-01", "0001-01-01",
    "2026-11-30T25:61:61Z", "9999-12-31T23:59:59-14:00", "=1+1", "[]", "{}", "[1]", "1e-999", "-1e-9", "1e15", "-2147483649",
))  # fmt: skip
ODD = (
    None, True, False, -1, 0, 1, 2, 3, 7, 10**9, 10**12, 2**63, 10**40, 0.5, -0.5, 1e308, 5e-324, float("nan"), float("inf"),
    -float("inf"), "", "x", "-1", "NaN", "1e999", [], [1], [1, 2], [0] * 40, [None], [[]], {}, {"a": 1}, "\u00e9" * 300, "\ud800",
    "\x00", "2026-13-45", "\u202e", "\u0665",
)  # fmt: skip
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_TOKEN = re.compile(rb"[^\s,;:=\"'{}\[\]()|<>&]+")
_KEY = re.compile(rb"\"[^\"\n]{1,40}\"\s*:")
_DEEP = (b"[", b'{"a":', b"(", b"- ", b"  a:\n", b"{", b"<a>", b'[{"a":', b"-(", b"'")


class Changes:
    """A stream of spoilt inputs: the same for the same seed, seeds and words."""

    def __init__(self, seed, seeds, words, *, structured=False):
        self.chance = random.Random(seed)
        self.kept, self.words = list(seeds), tuple(words) or (b"x",)
        self.structured = structured

    def next(self):
        """The next one."""
        return self.of(self.chance.choice(self.kept))

    def of(self, data):
        """``data``, a little different; an archive is opened, and mostly one of its files is spoilt."""
        if data[:4] == b"PK\x03\x04" and self.chance.random() < 0.85:
            return self._in_zip(data)
        if data[:2] == b"\x1f\x8b" and self.chance.random() < 0.7:
            return self._in_gzip(data)
        return self._spoilt(data)

    def _spoilt(self, data):
        if (self.structured or data[:1] in (b"{", b"[")) and self.chance.random() < 0.5:
            data = self._tree(data)
            if self.chance.random() < 0.8:
                return data
        body = bytearray(data)
        for _ in range(self.chance.choice((1, 1, 1, 2, 3, 6))):
            self.chance.choice(_WAYS)(self, body)
        most = GIANT_BYTES if self.chance.random() < 0.01 else max(LONGEST_BYTES, len(data))
        return bytes(body[:most])

    def _in_zip(self, data):
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                files = {one.filename: archive.read(one) for one in archive.infolist()}
        except (
            zipfile.BadZipFile,
            zlib.error,
            OSError,
            ValueError,
            EOFError,
            NotImplementedError,
            RuntimeError,
        ):
            return self._spoilt(data)
        if not files:
            return self._spoilt(data)
        name = self.chance.choice(list(files))
        what = self.chance.random()
        if what < 0.03:
            files[name] = b"0" * BOMB_BYTES
        elif what < 0.06:
            del files[name]
        elif what < 0.09:
            files[self.chance.choice(("../out", "/etc/x", "a\\b", name.upper(), "x" * 300))] = files.pop(name)
        else:
            files[name] = self._spoilt(files[name])
        return zipped(files)

    def _in_gzip(self, data):
        try:
            inner = gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            return self._spoilt(data)
        if self.chance.random() < 0.02:
            return gzip.compress(inner + b"\n0" * (BOMB_BYTES // 2), 1)
        return gzip.compress(self._spoilt(inner), 1)

    def _tree(self, data):
        """The same JSON with some values replaced, or members added; of lines of JSON, one line."""
        lines = data.split(b"\n") if b"\n{" in data and data[:1] == b"{" else None
        at = self.chance.randrange(len(lines)) if lines else 0
        try:
            tree = json.loads(lines[at] if lines else data)
        except (ValueError, RecursionError):
            return data
        for _ in range(self.chance.choice((1, 1, 2, 3))):
            places = list(_places(tree))
            if not places:
                break
            holder, key = self.chance.choice(places)
            if isinstance(holder, dict) and self.chance.random() < 0.2:
                holder[self.chance.choice(self.words).decode("utf-8", "replace")] = self._odd(None)
            elif self.chance.random() < 0.1:
                del holder[key]
            else:
                holder[key] = self._odd(holder[key])
        try:
            made = json.dumps(tree).encode()
        except (ValueError, RecursionError):
            return data
        if lines:
            lines[at] = made
            return b"\n".join(lines)
        return made

    def _odd(self, value):
        chance = self.chance
        if isinstance(value, int | float) and chance.random() < 0.4:
            try:
                return value * chance.choice((-1, 2, 1000, 1e9, 0.001)) + chance.choice((-1, 0, 1))
            except OverflowError:
                return 10**40
        if isinstance(value, str) and chance.random() < 0.5:
            said = chance.choice((*self.words, *NUMBERS)).decode("utf-8", "replace")
            return said if chance.random() < 0.5 else value + said
        if isinstance(value, list) and value and chance.random() < 0.4:
            return value * chance.choice((2, 3, 50))
        if chance.random() < 0.02:
            made = []
            for _ in range(400):
                made = [made]
            return made
        return chance.choice(ODD)

    # --- ways: each changes ``body`` in place

    def _place(self, body):
        at = self.chance.randrange(len(body) + 1)
        return at, min(len(body), at + self.chance.choice((1, 1, 2, 4, 8, 32, 200)))

    def _found(self, pattern, body):
        """One of the first thousands of places where a pattern is."""
        start = self.chance.randrange(len(body) + 1) if len(body) > 20_000 else 0
        found = list(pattern.finditer(bytes(body[start : start + 20_000])))
        if not found:
            return None
        one = self.chance.choice(found)
        return one.start() + start, one.end() + start

    def flipped(self, body):
        if body:
            at = self.chance.randrange(len(body))
            body[at] ^= 1 << self.chance.randrange(8)

    def noise(self, body):
        at, to = self._place(body)
        body[at:to] = bytes(self.chance.randrange(256) for _ in range(to - at))

    def cut(self, body):
        at, to = self._place(body)
        del body[at:to]

    def ended(self, body):
        del body[self.chance.randrange(len(body) + 1) :]

    def word(self, body):
        at, to = self._place(body)
        body[at : at if self.chance.random() < 0.5 else to] = self.chance.choice(self.words)

    def again(self, body):
        at, to = self._place(body)
        body[at:at] = body[at:to] * self.chance.choice((1, 2, 50, 400))

    def spliced(self, body):
        at, to = self._place(body)
        other = self.chance.choice(self.kept)
        start = self.chance.randrange(len(other) + 1)
        body[at:to] = other[start : start + self.chance.randrange(1, 400)]

    def number(self, body):
        if (found := self._found(_NUMBER, body)) is not None:
            body[slice(*found)] = self.chance.choice(NUMBERS)

    def near_number(self, body):
        if (found := self._found(_NUMBER, body)) is not None:
            said = bytes(body[slice(*found)])
            body[slice(*found)] = self.chance.choice(
                (b"-" + said, said + b"0" * 12, said + b"e99", b"0." + said, said * 20)
            )

    def token(self, body):
        if (found := self._found(_TOKEN, body)) is not None:
            body[slice(*found)] = self.chance.choice((*self.words, *NUMBERS, b"", b"x", b"\xc3\xa9" * 60))

    def key(self, body):
        """A key twice, with another value."""
        if (found := self._found(_KEY, body)) is not None:
            said = bytes(body[slice(*found)])
            body[found[0] : found[0]] = said + self.chance.choice(NUMBERS) + b","

    def lines(self, body):
        lines = bytes(body).split(b"\n")
        if len(lines) > 5000:
            return
        at, to = self.chance.randrange(len(lines)), self.chance.randrange(len(lines))
        match self.chance.randrange(6):
            case 0:
                lines.insert(to, lines[at])
            case 1:
                del lines[at]
            case 2:
                lines[at], lines[to] = lines[to], lines[at]
            case 3:
                lines[at] = b" " * self.chance.choice((1, 2, 4)) + lines[at]
            case 4:
                lines[at] = lines[at] + self.chance.choice(self.words)
            case _:
                lines[at] = lines[at].replace(b": ", b": " + self.chance.choice(NUMBERS) + b" #", 1)
        body[:] = b"\n".join(lines)

    def long_line(self, body):
        if self.chance.random() < 0.1:
            at, _ = self._place(body)
            body[at:at] = (
                self.chance.choice((b"a", b"9", b" ", b"\t", b",", b'"', b"-", b"{", b"\xc3\xa9")) * 150_000
            )

    def encoded(self, body):
        if self.chance.random() < 0.3:
            text = bytes(body).decode("utf-8", "replace")
            body[:] = text.encode(
                self.chance.choice(("utf-16", "utf-16-le", "utf-8-sig", "latin-1", "utf-32")), "replace"
            )

    def deep(self, body):
        if self.chance.random() < 0.3:
            at, _ = self._place(body)
            body[at:at] = self.chance.choice(_DEEP) * self.chance.choice((20, 200, 3000))

    def odd_bytes(self, body):
        at, _ = self._place(body)
        body[at:at] = self.chance.choice((
            b"\x00", b"\x00" * 300, b"\xed\xa0\x80", b"\\ud800", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\x1b[31m", b"\x85",
            b"\xe2\x80\xa8", b"\xe2\x80\xae", b"\xc2\xa0", b"\x0c", b"\x1c", b"\xf4\x90\x80\x80", b"%s%n", b"{0}", b"\x1a", b"\\u0000",
        ))  # fmt: skip


_WAYS = (
    Changes.flipped, Changes.noise, Changes.cut, Changes.ended, Changes.word, Changes.word, Changes.again, Changes.spliced,
    Changes.number, Changes.number, Changes.number, Changes.near_number, Changes.token, Changes.token, Changes.key, Changes.lines,
    Changes.lines, Changes.long_line, Changes.encoded, Changes.deep, Changes.odd_bytes,
)  # fmt: skip


def zipped(files):
    """Files of a name each as one archive."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return held.getvalue()


def _places(tree, depth=0):
    """Every place of a tree, as a holder and a key."""
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in list(entries)[:200]:
        yield tree, key
        if depth < 10:
            yield from _places(value, depth + 1)
