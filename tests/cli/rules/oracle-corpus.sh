# needs: python3 corpus
python3 "$CASES/rules/oracle.py" "$FRAMEWALK" "$CORPUS"/minidumps/deep/symbols/*/*/*.sym
