# Values are checked whole, before any file is opened.
. "$CASES/lib.sh"
for v in xml '' TEXT 'text '; do try stack --format "$v" x; done
for v in 0 65 -1 +1 1x ' 1' '' 18446744073709551616; do try stack --jobs "$v" x; done
for v in 0 1048577 1e3 0x10; do try stack --max-frames="$v" x; done
for v in 1T 1KB K -1 '' 99999999999999999999 9007199254740993G; do try stack --cache-size="$v" x; done
for v in '#' '#-1' '#0x1' 0x 4294967296 main '' 'all ' '#4294967296'; do try stack --threads "$v" x; done
for v in loud ''; do try stack --log-level "$v" x; done
for v in yes ''; do try stack --color="$v" x; done
try stack --symbols= x
try stack --symbols
try stack x -o
try stack x -j
try stack --json=1 x
try stack --brief= x
try rules x 12 --cache
