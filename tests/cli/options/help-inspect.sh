"$FRAMEWALK" inspect --help
"$FRAMEWALK" inspect --help > long; "$FRAMEWALK" inspect -h > short; "$FRAMEWALK" help inspect > word
cmp long short
cmp long word
