# What cannot be had together is told.
. "$CASES/lib.sh"
try stack
try stack --
try stack --pretty x
try stack --pretty --format ndjson x
try stack --pretty --json --format text x
try stack --summary --format machine x
try stack --registers --format machine x
try stack --registers --summary x
try stack --json a b
try stack --format machine a b
try stack --json .
try stack --format ndjson - -
try rules
try rules x
try rules --pretty x 0
try rules x 0 zz
try rules x 0x
try rules x 10000000000000000
try inspect
try inspect a b
try inspect --pretty a
