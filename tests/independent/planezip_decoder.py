#!/usr/bin/env python3
"""A decoder of PlaneZip block streams, written from docs/format.md alone.

It shares nothing with the codec: another language, another structure, no speed. The tests compare the two on
streams of every kind (tests/independent.rs); section numbers below are those of the document.

    planezip_decoder.py W16 < stream > raw        decodes one stream; on a fault prints it and exits with 1
    planezip_decoder.py --serve                   answers many requests, see serve()
"""

import sys

BAD_HEADER, TRUNCATED, TRAILING = "bad header", "truncated", "trailing data"
VERDICTS = (None, BAD_HEADER, TRUNCATED, TRAILING)


class Fault(Exception):
    """The stream is none; `args[0]` is the verdict of section 4."""


class Layout:
    """Section 1."""

    def __init__(self, bits: int):
        self.W = bits
        self.WB = bits // 8
        self.MB = bits - 9
        self.G = 128 // bits
        self.MK = self.G


LAYOUTS = {"W16": Layout(16), "W32": Layout(32)}


class Reader:
    """The bytes that are left of a stream."""

    def __init__(self, data: bytes):
        self.data = data
        self.at = 0

    def left(self) -> int:
        return len(self.data) - self.at

    def need(self, n: int) -> None:
        if self.left() < n:
            raise Fault(TRUNCATED)

    def take(self, n: int) -> bytes:
        self.need(n)
        self.at += n
        return self.data[self.at - n : self.at]

    def byte(self) -> int:
        return self.take(1)[0]

    def word(self, n: int) -> int:
        return int.from_bytes(self.take(n), "little")


def is_plane_code(layout: Layout, code: int) -> bool:
    f, s = code >> 5, code >> 3 & 3
    return f <= 5 and s != 3 and not (f == 1 and layout.W == 32)


def read_mask(layout: Layout, r: Reader, style: int) -> list[int]:
    """The places of the non-zero words."""
    if style == 0:
        written = r.take(layout.MK)
    else:
        presence = r.byte()
        if presence >> layout.MK:
            raise Fault(BAD_HEADER)
        r.need(bin(presence).count("1"))
        filler = 0 if style == 1 else 0xFF
        written = bytes(r.byte() if presence >> b & 1 else filler for b in range(layout.MK))
    places = [8 * b + i for b in range(layout.MK) for i in range(8) if written[b] >> i & 1]
    if not places:
        raise Fault(BAD_HEADER)
    return places


def group_of(planelets: dict[int, int]) -> list[int]:
    """Eight words from their planelets, by plane."""
    return [sum((byte >> j & 1) << p for p, byte in planelets.items()) for j in range(8)]


def read_group(r: Reader, lo: int, hi: int) -> list[int]:
    return group_of(dict(zip(range(lo, hi), r.take(hi - lo))))


def read_halves(r: Reader, lo: int, end: int, hi: int) -> list[int]:
    """Words 4..7 of a group from half planelets lo .. end - 1; planes at or above hi do not count."""
    words = [0] * 4
    for i, byte in zip(range(lo, end), r.take(end - lo)):
        for p, nibble in ((2 * i, byte & 15), (2 * i + 1, byte >> 4)):
            if p < hi:
                for j in range(4):
                    words[j] |= (nibble >> j & 1) << p
    return words


def word_of(layout: Layout, mode: int, e_max: int, kg: int, code: int) -> int:
    mantissa, f = code % (1 << layout.MB), code >> layout.MB
    r = f % (1 << kg)
    sign = f >> kg & 1 if mode == 2 else mode
    return sign << (layout.W - 1) | (e_max - r) % 256 << layout.MB | mantissa


def read_planes(layout: Layout, r: Reader, z: int, code: int) -> list[int]:
    """BP and ZBP, from e_max on."""
    f, mode, k = code >> 5, code >> 3 & 3, code & 7
    sp = int(mode == 2)
    if f <= 2:
        drop_bytes = layout.G * f // 8
        r.need(1 + drop_bytes)
        e_max = r.byte()
        field = r.word(drop_bytes)
        drops = [field >> (f * g) & ((1 << f) - 1) for g in range(layout.G)]
        if any(d > k for d in drops):
            raise Fault(BAD_HEADER)
        r.need(sum(sp + k - d + layout.MB - z for d in drops))
        words = []
        for d in drops:
            kg = k - d
            words += [word_of(layout, mode, e_max, kg, c) for c in read_group(r, z, layout.MB + kg + sp)]
        return words
    r.need(1 + (layout.MK if f == 3 else 1))
    e_max = r.byte()
    places = read_mask(layout, r, f - 3)
    hi = layout.MB + k + sp
    K, q, half_end = hi - z, len(places) % 8, (hi + 1) // 2
    mixed = (q - 4) * layout.WB + half_end
    if q == 0:
        partial = 0
    elif q <= 4:
        partial = min(q * layout.WB, half_end - z // 2)
    else:
        partial = min(K, mixed)
    r.need(partial + K * (len(places) // 8))

    def real(codes: list[int]) -> list[int]:
        return [word_of(layout, mode, e_max, k, c) for c in codes]

    values: list[int] = []
    if 1 <= q <= 4:
        if q * layout.WB < half_end - z // 2:
            values += [r.word(layout.WB) for _ in range(q)]
        else:
            values += real(read_halves(r, z // 2, half_end, hi))[4 - q :]
    elif q >= 5:
        if K <= mixed:
            values += real(read_group(r, z, hi))[8 - q :]
        else:
            values += [r.word(layout.WB) for _ in range(q - 4)]
            values += real(read_halves(r, 0, half_end, hi))
    for _ in range(len(places) // 8):
        values += real(read_group(r, z, hi))
    words = [0] * (8 * layout.G)
    for place, value in zip(places, values):
        words[place] = value
    return words


def read_deltas(layout: Layout, r: Reader) -> list[int]:
    field_bytes, bits = (4, 4) if layout.W == 16 else (3, 5)
    r.need(field_bytes + layout.WB)
    field = r.word(field_bytes)
    base = r.word(layout.WB)
    if layout.W == 32 and field >> 20:
        raise Fault(BAD_HEADER)
    widths = [field >> (bits * g) & (layout.W - 1) for g in range(layout.G)]
    widths = [layout.W if w == layout.W - 1 else w for w in widths]
    r.need(sum(widths))
    words: list[int] = []
    for width in widths:
        ahead, group = (words[-1] if words else base), []
        for i, c in enumerate(read_group(r, 0, width)):
            prediction = ahead if i < 2 else group[i // 2 * 2 - 1]
            difference = -(c + 1) // 2 if c & 1 else c // 2
            group.append((prediction + difference) % (1 << layout.W))
        words += group
    return words


def read_block(layout: Layout, r: Reader) -> bytes:
    """The block at the reader's position; section 4's steps in their order."""
    code, z = r.byte(), 0
    if code >> 5 == 7:
        z = code & 31
        if not 1 <= z <= layout.MB:
            raise Fault(BAD_HEADER)
        code = r.byte()
        if not is_plane_code(layout, code):
            raise Fault(BAD_HEADER)
    if is_plane_code(layout, code):
        words = read_planes(layout, r, z, code)
    elif code == 0xC0:
        return r.take(128)
    elif code == 0xC1:
        return bytes(128)
    elif code == 0xC2:
        t = r.byte()
        if not 1 <= t <= 127:
            raise Fault(BAD_HEADER)
        tail = r.take(t)
        if r.left():
            raise Fault(TRAILING)
        return tail
    elif code == 0xC3:
        words = read_deltas(layout, r)
    elif code in (0xC4, 0xC5, 0xC6):
        places = read_mask(layout, r, code - 0xC4)
        r.need(layout.WB * len(places))
        words = [0] * (8 * layout.G)
        for place in places:
            words[place] = r.word(layout.WB)
    else:
        raise Fault(BAD_HEADER)
    return b"".join(w.to_bytes(layout.WB, "little") for w in words)


def decode(layout: Layout, stream: bytes) -> tuple[bytes, str | None]:
    """The bytes of all blocks before the first fault, and that fault's verdict."""
    r, out = Reader(stream), []
    try:
        while r.left():
            out.append(read_block(layout, r))
    except Fault as fault:
        return b"".join(out), fault.args[0]
    return b"".join(out), None


def serve() -> None:
    """Request: layout (0 W16, 1 W32), length (4 bytes, little-endian), stream. Answer: verdict (0 none, 1 bad header,
    2 truncated, 3 trailing data), length, bytes."""
    layouts = list(LAYOUTS.values())
    while head := sys.stdin.buffer.read(5):
        stream = sys.stdin.buffer.read(int.from_bytes(head[1:], "little"))
        raw, verdict = decode(layouts[head[0]], stream)
        sys.stdout.buffer.write(bytes([VERDICTS.index(verdict)]) + len(raw).to_bytes(4, "little") + raw)
        sys.stdout.buffer.flush()


def main() -> int:
    if sys.argv[1:] == ["--serve"]:
        serve()
        return 0
    if len(sys.argv) != 2 or sys.argv[1] not in LAYOUTS:
        print(__doc__, file=sys.stderr)
        return 2
    raw, verdict = decode(LAYOUTS[sys.argv[1]], sys.stdin.buffer.read())
    sys.stdout.buffer.write(raw)
    if verdict:
        print(f"planezip_decoder: {verdict}", file=sys.stderr)
    return int(verdict is not None)


if __name__ == "__main__":
    sys.exit(main())
