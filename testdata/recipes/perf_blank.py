"""Overwrite what a perf.data file says of its machine: host name, kernel, processor.
usage: perf_blank.py FILE"""
import struct
import sys

BLANK = {3, 4, 8, 9}  # HOSTNAME, OSRELEASE, CPUDESC, CPUID: u32 length and text

path = sys.argv[1]
data = bytearray(open(path, "rb").read())
if struct.unpack_from("<Q", data, 8)[0] == 16:
    at = 16
    while at + 8 <= len(data):
        kind, misc, size = struct.unpack_from("<IHH", data, at)
        if kind == 80 and struct.unpack_from("<Q", data, at + 8)[0] in BLANK:
            data[at + 20:at + size] = bytes(size - 20)
        at += size
else:
    table = sum(struct.unpack_from("<QQ", data, 40))
    bits = struct.unpack_from("<4Q", data, 72)
    for bit in range(256):
        if bits[bit // 64] >> bit % 64 & 1:
            where, size = struct.unpack_from("<QQ", data, table)
            table += 16
            if bit in BLANK:
                data[where + 4:where + size] = bytes(size - 4)
open(path, "wb").write(data)
