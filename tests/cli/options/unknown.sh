# Unknown commands and options: status 2, one line that names it and what is near.
. "$CASES/lib.sh"
touch here.dmp
try
try stak crash.dmp
try here.dmp
try nothing-like-it
try --json stack crash.dmp
try --versoin
try stack --symbol x crash.dmp
try stack --pretti crash.dmp
try stack --sumary crash.dmp
try stack --root=/ crash.dmp
try stack --version
try rules --threads all x 0
try inspect --symbols x crash.dmp
try stack -x crash.dmp
try stack -hx crash.dmp
try stack --=x crash.dmp
try stack ---json crash.dmp
try help nothing
try help stack rules
try help --json
