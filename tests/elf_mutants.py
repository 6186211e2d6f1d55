"""Mutants of ELF files and cores: where their fields are, and what is done to them."""
import functools
import gzip
import lzma
import struct
import zlib

SHF_COMPRESSED = 0x800
SHT_SYMTAB, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = 2, 7, 8, 11
PT_NOTE = 4
VALUES = [0, -1, 1, 2, 3, 7, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x10000, 4096, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1,
          0xfffffff0, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
HEADS = [(0, 4), (4, 2), (6, 1), (7, 1), (8, 4), (12, 4), (8, 8), (16, 8)]      # fields of units' headers
DEBUG = (".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_line_str", ".debug_str_offsets",
         ".debug_addr", ".debug_rnglists", ".debug_ranges", ".debug_aranges", ".debug_types", ".debug_loclists",
         ".debug_cu_index", ".debug_tu_index")


class Elf:
    """Offsets by the gABI's tables; whatever is odd is left out."""

    def __init__(self, data):
        self.data = data
        self.wide, self.end = data[4] == 2, ">" if data[5] == 2 else "<"
        w = self.wide
        self.header = 64 if w else 52
        self.phoff, self.shoff = self.words(data, 32 if w else 28, 2)
        self.phsize, self.phnum, self.shsize, self.shnum, self.shstr = \
            struct.unpack_from(self.end + "5H", data, 54 if w else 42)
        self.sections = [self.section(i) for i in range(self.shnum)] if self.shoff else []
        if self.shstr < len(self.sections):
            names = self.sections[self.shstr]["offset"]
            for s in self.sections:
                at = names + s["name"]
                s["name"] = data[at:data.index(0, at)].decode("latin-1")
        self.segments = [self.segment(i) for i in range(self.phnum)]

    def words(self, data, at, n):
        return struct.unpack_from(self.end + str(n) + ("Q" if self.wide else "I"), data, at)

    def u32(self, at):
        return struct.unpack_from(self.end + "I", self.data, at)[0] if at + 4 <= len(self.data) else 0

    def section(self, i):
        at = self.shoff + i * self.shsize
        name, kind = struct.unpack_from(self.end + "II", self.data, at)
        flags, address, offset, size = self.words(self.data, at + 8, 4)
        return {"name": name, "type": kind, "flags": flags, "address": address, "offset": offset, "size": size,
                "header": at}

    def segment(self, i):
        at = self.phoff + i * self.phsize
        kind = self.u32(at)
        if self.wide:
            offset, address, _, size = self.words(self.data, at + 8, 4)
        else:
            offset, address, _, size = self.words(self.data, at + 4, 4)
        return {"type": kind, "offset": offset, "address": address, "size": size, "header": at}

    def with_bytes(self, least=1):
        return [s for s in self.sections if s["type"] not in (0, SHT_NOBITS) and s["size"] >= least and
                s["offset"] + s["size"] <= len(self.data)]

    def called(self, *names, least=1):
        """Sections of these names, .dwo and old compressed forms too."""
        plain = {n: s for s in self.with_bytes(least) for n in [s["name"].replace(".zdebug", ".debug").replace(".dwo", "")]}
        return [plain[n] for n in names if n in plain]

    @functools.cached_property
    def boundaries(self):
        edges = {self.header, self.phoff, self.shoff}
        edges |= {self.phoff + i * self.phsize for i in range(self.phnum + 1)}
        edges |= {self.shoff + i * self.shsize for i in range(self.shnum + 1)}
        for s in self.with_bytes() + self.segments:
            edges |= {s["offset"], s["offset"] + s["size"]}
        for note in self.notes:
            edges |= {note, note + 12}
        return sorted(e for e in edges if 0 < e < len(self.data))

    @functools.cached_property
    def notes(self):
        """Where notes begin."""
        found = []
        places = [(s["offset"], s["size"]) for s in self.segments if s["type"] == PT_NOTE] + \
            [(s["offset"], s["size"]) for s in self.with_bytes() if s["type"] == SHT_NOTE]
        for at, size in places:
            end = min(at + size, len(self.data))
            while at + 12 <= end and len(found) < 2000:
                found.append(at)
                at += 12 + (self.u32(at) + 3 & ~3) + (self.u32(at + 4) + 3 & ~3)
        return found

    @functools.cached_property
    def entries(self):
        """Where CIEs and FDEs of .eh_frame and .debug_frame begin."""
        found = []
        for s in self.called(".eh_frame", ".debug_frame", least=8):
            at, end = s["offset"], s["offset"] + s["size"]
            while at + 8 <= end and len(found) < 20000:
                found.append(at)
                at += 4 + self.u32(at)
        return found

    def units(self, section):
        found, at, end = [], section["offset"], section["offset"] + section["size"]
        while at + 12 <= end and len(found) < 5000:
            found.append(at)
            n = self.u32(at)
            if n >= 0xfffffff0:
                break
            at += 4 + n
        return found

    def function_addresses(self):
        found, size = set(), 24 if self.wide else 16
        for s in self.with_bytes():
            if s["type"] in (SHT_SYMTAB, SHT_DYNSYM):
                for at in range(s["offset"], s["offset"] + s["size"] - size + 1, size):
                    info = self.data[at + 4] if self.wide else self.data[at + 12]
                    value = self.words(self.data, at + (8 if self.wide else 4), 1)[0]
                    if info & 15 == 2 and value:
                        found.add(value)
        return sorted(found)

    def put(self, data, at, width, value):
        order = "big" if self.end == ">" else "little"
        data = bytearray(data)
        if 0 <= at and at + width <= len(data):
            data[at:at + width] = (value & (1 << 8 * width) - 1).to_bytes(width, order)
        return bytes(data)

    def put_section(self, data, s, content):
        """Other contents of a section, at the file's end."""
        word, at = (8, 24) if self.wide else (4, 16)
        out = self.put(data, s["header"] + at, word, len(data))
        return self.put(out, s["header"] + at + word, word, len(content)) + content


def value_of(rng, elf, at=0):
    size = len(elf.data)
    return rng.choice(VALUES + [size, size - at, rng.randrange(size), rng.randrange(256), rng.getrandbits(32)])


def truncate(rng, elf, data, others):
    at = rng.choice(elf.boundaries) if rng.random() < 0.6 else rng.randrange(len(data))
    return data[:max(0, min(len(data), at + rng.choice((-1, 0, 0, 1))))]


def flip_at(rng, data, start, size):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = start + rng.randrange(max(1, size))
        if at < len(data):
            data[at] ^= 1 << rng.randrange(8)
    return bytes(data)


def flip_section(rng, elf, data, others):
    sections = elf.with_bytes()
    if not sections:
        return flip_at(rng, data, 0, len(data))
    wanted = [s for s in sections if s["name"].startswith((".debug", ".zdebug", ".eh", ".gnu", ".sym", ".str", ".dyn", ".note",
                                                             ".ARM", ".rel", ".plt"))]
    s = rng.choice(wanted if wanted and rng.random() < 0.9 else sections)
    return flip_at(rng, data, s["offset"], s["size"])


def fields(word, widths):
    """(offset, width) of a header's fields; 0 stands for an address's width."""
    at, found = 0, []
    for w in widths:
        w = w or word
        found.append((at, w))
        at += w
    return found


def elf_header(rng, elf, data, others):
    word = 8 if elf.wide else 4
    at, width = rng.choice(fields(word, (4, 1, 1, 1, 1, 4, 4, 2, 2, 4, 0, 0, 0, 4, 2, 2, 2, 2, 2, 2))[1:])
    return elf.put(data, at, width, value_of(rng, elf, at))


def section_header(rng, elf, data, others):
    sections = [s for s in elf.sections if s["type"]]
    if not sections:
        return program_header(rng, elf, data, others)
    s, word = rng.choice(sections), 8 if elf.wide else 4
    at, width = rng.choice(fields(word, (4, 4, 0, 0, 0, 0, 4, 4, 0, 0)))
    value = value_of(rng, elf, s["offset"])
    if rng.random() < 0.25:         # another section's value
        other = rng.choice(sections)
        value = int.from_bytes(elf.data[other["header"] + at:other["header"] + at + width],
                               "big" if elf.end == ">" else "little")
    return elf.put(data, s["header"] + at, width, value)


def program_header(rng, elf, data, others):
    if not elf.segments:
        return elf_header(rng, elf, data, others)
    p, word = rng.choice(elf.segments), 8 if elf.wide else 4
    at, width = rng.choice(fields(word, (4, 4, 0, 0, 0, 0, 0, 0) if elf.wide else (4,) * 8))
    return elf.put(data, p["header"] + at, width, value_of(rng, elf, p["offset"]))


def note(rng, elf, data, others):
    if not elf.notes:
        return program_header(rng, elf, data, others)
    at = rng.choice(elf.notes)
    field = rng.choice((0, 4, 8))
    old = elf.u32(at + field)
    return elf.put(data, at + field, 4, rng.choice((value_of(rng, elf, at), old + 1, old - 1, old * 2, 5)))


def note_content(rng, elf, data, others):
    """Words of what notes say: registers, auxiliary vector, mapped files."""
    if not elf.notes:
        return flip_section(rng, elf, data, others)
    at = rng.choice(elf.notes)
    size = max(8, elf.u32(at + 4))
    place = at + 20 + rng.randrange(size) // 8 * 8
    if rng.random() < 0.3:
        return flip_at(rng, data, at, 20 + size)
    return elf.put(data, place, rng.choice((4, 8)), value_of(rng, elf, place))


def unit_header(rng, elf, data, others):
    sections = elf.called(*DEBUG, least=12)
    if not sections:
        return flip_section(rng, elf, data, others)
    s = rng.choice(sections)
    head, (at, width) = rng.choice(elf.units(s) or [s["offset"]]), rng.choice(HEADS)
    value = value_of(rng, elf, head)
    if rng.random() < 0.3:
        value = elf.u32(head) + rng.choice((-8, -1, 1, 4, 64))
    return elf.put(data, head + at, width, value)


LEBS = [b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x80\x80\x80\x80\x10", b"\x80\x00", b"\xff\x7f", b"\x7f", b"\0", b"\0\0\0",
        b"\xff" * 12]


def table(rng, elf, data, others):
    """Variable-length numbers, forms and operations in the middle of debug tables."""
    sections = elf.called(*DEBUG[:10])
    if not sections:
        return flip_section(rng, elf, data, others)
    s = rng.choice(sections)
    at = s["offset"] + rng.randrange(s["size"])
    new = rng.choice(LEBS + [bytes([rng.randrange(0x30)]), bytes([rng.randrange(256)])])
    end = min(at + len(new), s["offset"] + s["size"])
    return data[:at] + new[:end - at] + data[end:]


def frame_entry(rng, elf, data, others):
    if not elf.entries:
        return flip_section(rng, elf, data, others)
    at = rng.choice(elf.entries)
    field, width = rng.choice(((0, 4), (0, 4), (4, 4), (8, 4), (12, 4), (8, 1), (16, 1), (17, 1), (20, 2)))
    value = value_of(rng, elf, at)
    if field < 12 and rng.random() < 0.5:
        value = elf.u32(at + field) + rng.choice((-8, -4, -1, 1, 4, 8))
    return elf.put(data, at + field, width, value)


def symbol(rng, elf, data, others):
    tables = [s for s in elf.with_bytes(16) if s["type"] in (SHT_SYMTAB, SHT_DYNSYM) or s["name"].startswith(".rel") or
              s["name"] == ".dynamic"]
    if not tables:
        return section_header(rng, elf, data, others)
    s = rng.choice(tables)
    at = s["offset"] + rng.randrange(s["size"]) // 4 * 4
    return elf.put(data, at, rng.choice((1, 4, 8)), value_of(rng, elf, at))


def unpack(elf, s):
    """(method, contents) of a compressed section; None: it is not, or not here."""
    raw = elf.data[s["offset"]:s["offset"] + s["size"]]
    head = 24 if elf.wide else 12
    try:
        if s["name"] == ".gnu_debugdata":
            return "xz", lzma.decompress(raw)
        if s["name"].startswith(".zdebug"):
            return "old", zlib.decompress(raw[12:])
        if s["flags"] & SHF_COMPRESSED and elf.u32(s["offset"]) == 1:
            return "zlib", zlib.decompress(raw[head:])
    except (zlib.error, lzma.LZMAError):
        pass
    return None


def packed(rng, elf, data, others):
    """A compressed section: its header, or its contents mutated and packed again."""
    sections = [s for s in elf.with_bytes() if s["flags"] & SHF_COMPRESSED or s["name"].startswith(".zdebug") or
                s["name"] == ".gnu_debugdata"]
    if not sections or len(data) < len(elf.data):
        return unit_header(rng, elf, data, others)
    s = rng.choice(sections)
    inside = unpack(elf, s)
    if inside is None or rng.random() < 0.3:
        return elf.put(data, s["offset"] + rng.choice((0, 4, 8, 12, 16)), rng.choice((4, 8)), value_of(rng, elf, s["offset"]))
    method, content = inside
    if method == "xz":
        inner = Elf(content)
        content = rng.choice(INSIDE)(rng, inner, content, [inner])
        return elf.put_section(data, s, lzma.compress(content))
    size = len(content)
    for _ in range(rng.choice((1, 2, 8))):
        at = rng.randrange(size)
        content = rng.choice((content[:at] + rng.choice(LEBS) + content[at + 4:], flip_at(rng, content, at, 1)))
    if rng.random() < 0.1:
        content = content * 50
    head = elf.data[s["offset"]:s["offset"] + (24 if elf.wide else 12)]
    if method == "old":
        head = b"ZLIB" + len(content).to_bytes(8, "big")
    elif elf.wide:
        head = struct.pack(elf.end + "IIQQ", 1, 0, len(content), 1)
    else:
        head = struct.pack(elf.end + "III", 1, len(content), 1)
    return elf.put_section(data, s, head + zlib.compress(content))


def splice(rng, elf, data, others):
    """A section's contents, from another file's section of any name."""
    other = rng.choice(others)
    mine, theirs = elf.with_bytes(), other.with_bytes()
    if not mine or not theirs or len(data) < len(elf.data):
        at = rng.randrange(len(data))
        return data[:at] + other.data[at:at + rng.choice((16, 4096))] + data[at + 16:]
    s = rng.choice(mine)
    same = [t for t in theirs if t["name"] == s["name"]]
    t = rng.choice(same if same and rng.random() < 0.8 else theirs)
    return elf.put_section(data, s, other.data[t["offset"]:t["offset"] + min(t["size"], 1 << 20)])


def overwrite(rng, elf, data, others):
    at, n = rng.randrange(len(data)), rng.choice((1, 4, 64, 1024))
    return data[:at] + rng.randbytes(min(n, len(data) - at)) + data[at + n:]


def pack(rng, elf, data, others):
    out = bytearray(gzip.compress(data, 1, mtime=0))
    for _ in range(rng.choice((0, 1, 3))):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


INSIDE = [truncate, flip_section, section_header, program_header, elf_header, symbol, overwrite]
MUTATORS = {
    "elf": [truncate, flip_section, flip_section, elf_header, section_header, section_header, program_header, note,
            unit_header, unit_header, unit_header, table, table, table, frame_entry, frame_entry, symbol, packed, packed,
            splice, overwrite],
    "core": [truncate, truncate, elf_header, program_header, program_header, note, note, note_content, note_content,
             note_content, splice, overwrite, pack],
}


def mutate(rng, elf, others, kind):
    """(bytes, how they came about)"""
    data, names = elf.data, []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        f = rng.choice(MUTATORS[kind])
        # Offsets are those of the whole file.
        if len(data) >= len(elf.data):
            names.append(f.__name__)
            data = f(rng, elf, data, others)
    return data, "+".join(names)
