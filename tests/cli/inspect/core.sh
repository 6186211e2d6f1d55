# Cores are captures as dumps are: by name, packed, from standard input, in directories;
# programs and libraries, ELF files too, are not.
# needs: zstd
. "$CASES/lib.sh"
seeds=$CASES/../fuzz/corpus/core
"$FRAMEWALK" inspect "$seeds/armbe-linked" | tail -n +2
mkdir dir dir/sub
cp "$seeds/amd64-files" dir/core.1
gzip -c "$seeds/x86-files" > dir/sub/core.gz
zstd -q -c "$seeds/arm64be-files" > dir/sub/core.zst
cp "$TESTDATA/null/bin/"* dir/
"$FRAMEWALK" stack dir | grep -A 3 '^Capture'
"$FRAMEWALK" stack --format ndjson dir | wc -l | tr -d ' '
"$FRAMEWALK" stack --summary - < dir/sub/core.zst | head -3
"$FRAMEWALK" inspect "$(ls dir/* | grep -v core | head -1)" || echo "status $?"
