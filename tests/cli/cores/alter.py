"""Cores as the kernel writes them under a filter or a limit, made from a whole one.

usage: alter.py filter MASK CORE OUT     coredump_filter's bits, core(5): 1 anonymous, 0x10 ELF headers
       alter.py cut BYTES CORE OUT       what RLIMIT_CORE or a full disk leaves; BYTES may be a place, see cuts()
       alter.py sparse BYTES CORE OUT    a hole of so many bytes, mapped, in front of the stacks
       alter.py cuts CORE                places worth cutting at, one a line
"""
import struct
import sys

PT_LOAD, PT_NOTE, PF_W = 1, 4, 2


class Core:
    def __init__(self, path):
        self.data = bytearray(open(path, "rb").read())
        self.wide = self.data[4] == 2
        self.order = "<" if self.data[5] == 1 else ">"
        head = self.order + ("16sHHIQQQIHHHHHH" if self.wide else "16sHHIIIIIHHHHHH")
        fields = struct.unpack_from(head, self.data)
        self.phoff, self.phentsize, self.phnum = fields[5], fields[9], fields[10]
        # type, flags, offset, vaddr, filesz, memsz
        self.phdrs = [self.phdr(i) for i in range(self.phnum)]

    def phdr(self, i):
        at = self.phoff + i * self.phentsize
        if self.wide:
            kind, flags, offset, vaddr, _, filesz, memsz, _ = struct.unpack_from(self.order + "IIQQQQQQ", self.data, at)
        else:
            kind, offset, vaddr, _, filesz, memsz, flags, _ = struct.unpack_from(self.order + "IIIIIIII", self.data, at)
        return [kind, flags, offset, vaddr, filesz, memsz]

    def put(self, i, field, value):
        at = {"offset": (8, 4), "vaddr": (16, 8), "filesz": (32, 16), "memsz": (40, 20)}[field][not self.wide]
        struct.pack_into(self.order + ("Q" if self.wide else "I"), self.data,
                         self.phoff + i * self.phentsize + at, value)

    def files(self):
        """(start, end) of NT_FILE's mappings, and the vDSO's address."""
        mapped, vdso = [], 0
        word = "Q" if self.wide else "I"
        size = struct.calcsize(word)
        for kind, _, offset, _, filesz, _ in self.phdrs:
            at = offset
            while kind == PT_NOTE and at + 12 <= offset + filesz:
                n, d, type_ = struct.unpack_from(self.order + "III", self.data, at)
                desc = at + 12 + (n + 3 & ~3)
                at = desc + (d + 3 & ~3)
                if type_ == 0x46494c45:
                    count = struct.unpack_from(self.order + word, self.data, desc)[0]
                    for k in range(count):
                        start, end = struct.unpack_from(self.order + 2 * word, self.data, desc + (2 + 3 * k) * size)
                        mapped.append((start, end))
                if type_ == 6:
                    for k in range(0, d, 2 * size):
                        tag, value = struct.unpack_from(self.order + 2 * word, self.data, desc + k)
                        vdso = value if tag == 33 else vdso
        return mapped, vdso


def filtered(core, mask):
    mapped, vdso = core.files()
    for i, (kind, flags, _, vaddr, filesz, _) in enumerate(core.phdrs):
        if kind != PT_LOAD or not filesz or vaddr == vdso:
            continue
        head = vaddr in [start for start, _ in mapped] and not flags & PF_W and \
            core.data[core.phdrs[i][2]:core.phdrs[i][2] + 4] == b"\x7fELF"
        if not mask & (0x10 if head else 1):
            core.put(i, "filesz", 0)
    return core.data


def cuts(core):
    yield "header", 40
    yield "table", core.phoff + core.phentsize // 2
    yield "table-half", core.phoff + core.phnum // 2 * core.phentsize
    for kind, _, offset, _, filesz, _ in core.phdrs:
        if kind == PT_NOTE:
            yield "notes", offset + filesz // 2
            yield "first-note", offset + 30
            yield "before-notes", offset
    loads = [p for p in core.phdrs if p[0] == PT_LOAD and p[4]]
    for k in range(0, len(loads), max(1, len(loads) // 4)):
        yield "segment-%d" % k, loads[k][2] + loads[k][4] // 2
    yield "last-segment", loads[-1][2]
    yield "last-byte", len(core.data) - 1


def main():
    what, path = sys.argv[1], sys.argv[-2]
    if what == "cuts":
        for name, at in cuts(Core(sys.argv[2])):
            print(name, at)
        return
    core = Core(path)
    number = int(sys.argv[2], 0)
    with open(sys.argv[-1], "wb") as out:
        if what == "filter":
            out.write(filtered(core, number))
        elif what == "cut":
            out.write(core.data[:number])
        else:
            # Everything but headers and notes moves behind the hole, which is itself a segment's.
            front = min(p[2] for p in core.phdrs if p[0] == PT_LOAD and p[4])
            spare = next(i for i, p in enumerate(core.phdrs) if p[0] == PT_LOAD and not p[4])
            for i, p in enumerate(core.phdrs):
                if p[0] == PT_LOAD:
                    core.put(i, "offset", p[2] + number)
            core.put(spare, "offset", front)
            core.put(spare, "vaddr", 0x100000000000)
            core.put(spare, "filesz", number)
            core.put(spare, "memsz", number)
            out.write(core.data[:front])
            out.seek(front + number)
            out.write(core.data[front:])


main()
