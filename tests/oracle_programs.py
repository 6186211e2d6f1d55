"""Programs for oracle_names.py: tests/oracle_names.cc compiled as many differing units."""
import concurrent.futures
import hashlib
import os
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "oracle_names.cc")
C = {**os.environ, "LC_ALL": "C", "DEBUGINFOD_URLS": ""}
BUILDS = [(cc, v) for cc in ("g++", "clang++") for v in (4, 5)]
UNITS = 64
JOBS = 2
OPTIMIZED = ["-O2 -ffunction-sections", "-O2", "-O3 -ffunction-sections", "-O2 -ffunction-sections",
             "-Os -ffunction-sections", "-O0", "-O1 -ffunction-sections"]
MAIN = """#include <string>
%s
int main(int, char **v) { return %s; }
"""


def cache_folder():
    """A folder of our own where objects stay between runs."""
    path = os.path.join(tempfile.gettempdir(), "framewalk-oracle-%d" % os.getuid())
    os.makedirs(path, 0o700, exist_ok=True)
    found = os.lstat(path)
    if found.st_uid != os.getuid() or found.st_mode & 0o77 or os.path.islink(path):
        raise SystemExit("%s: not ours alone" % path)
    return path


def run(*args, folder=None):
    return subprocess.run(args, check=True, capture_output=True, text=True, env=C,
                          cwd=folder).stdout


def debug(compiler, version):
    aranges = ["-gdwarf-aranges"] if compiler == "clang++" else []  # eu-addr2line needs them
    return [compiler, "-g", "-gdwarf-%d" % version, *aranges]


def flags_of(compiler, version, unit, large):
    flags = OPTIMIZED[unit % len(OPTIMIZED)] if large else "-O2 -ffunction-sections -DSMALL"
    return [*debug(compiler, version), "-std=c++17", "-DUNIT=%d" % unit, *flags.split()]


def compile_unit(folder, flags, key):
    """The object file, from the folder if it is there."""
    name = hashlib.sha256(" ".join([*flags, key]).encode()).hexdigest()[:24]
    path = os.path.join(folder, name + ".o")
    if not os.path.exists(path):
        run(*flags, "-c", SOURCE, "-o", path + ".new", folder=folder)
        os.rename(path + ".new", path)
    return path


def build(folder, compiler, version, large):
    """The program; None: the compiler is not here, or cannot."""
    path = os.path.join(folder, "%s-%d" % (compiler, version))
    units = range(1, (UNITS if large else 1) + 1)
    try:
        with open(SOURCE) as f:
            key = f.read() + run(compiler, "--version")
        with open(path + ".cc", "w") as f:
            f.write(MAIN % ("".join("long run%d(const std::string &);\n" % i for i in units),
                            " + ".join("run%d(v[0])" % i for i in units)))
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            objects = list(pool.map(lambda i: compile_unit(
                folder, flags_of(compiler, version, i, large), key), units))
        run(*debug(compiler, version), "-O2", path + ".cc", *objects, "-o", path,
            "-Wl,--gc-sections", "-pthread", folder=folder)
    except (OSError, subprocess.CalledProcessError) as e:
        print("# %s: %s" % (path, (getattr(e, "stderr", None) or "")[-300:] or e))
        return None
    return path
