# Every fixture: valid JSON, one line, every key always there, pretty the same data; the
# registers that gdb saw.
# needs: python3
for dump in "$TESTDATA"/*/crash.dmp; do
	"$FRAMEWALK" inspect --json "$dump" > one && "$FRAMEWALK" inspect --json --pretty "$dump" > pretty || echo "failed: $dump"
	python3 - one pretty "${dump%/*}/truth.txt" <<'END' || echo "wrong: $dump"
import json, sys
text = open(sys.argv[1]).read()
assert text.count("\n") == 1
o = json.loads(text)
assert o == json.load(open(sys.argv[2]))
KEYS = {
    "": "schema_version status file format big_endian size compressed timestamp system process exception "
        "streams threads modules unloaded_modules memory regions_complete regions annotations limits "
        "handles notes_total notes",
    "system": "os os_version os_build cpu cpu_count cpu_info cpu_microcode lsb_id lsb_release lsb_codename "
              "lsb_description boot_args",
    "process": "pid create_time command_line entry vdso crashpad_report_id crashpad_client_id",
    "threads": "index thread_id thread_name crashing dump_writer pc sp context_error stack_start stack_size "
               "teb last_error",
    "modules": "base size code_file code_id debug_file debug_id version main annotations",
    "streams": "type name offset size read",
    "memory": "start size",
}
for where, keys in KEYS.items():
    part = o if where == "" else o[where]
    for item in part if isinstance(part, list) else [part]:
        assert list(item) == keys.split(), (where, list(item))
# truth.txt: thread ids, names, the crashed one, and the crashing pc's module and offset
threads = [l.split() for l in open(sys.argv[3]) if l.startswith("thread ")]
assert sorted(int(t[1]) for t in threads) == sorted(t["thread_id"] for t in o["threads"]), threads
for t in threads:
    ours = [u for u in o["threads"] if u["thread_id"] == int(t[1])][0]
    assert ours["thread_name"] == t[2] and ours["crashing"] == (t[-1] == "crashed"), (t, ours)
END
done
ls -d "$TESTDATA"/*/crash.dmp | wc -l > count
[ "$(cat count)" -gt 0 ] && echo done
