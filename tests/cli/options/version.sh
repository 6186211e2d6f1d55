"$FRAMEWALK" --version
