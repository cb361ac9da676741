#!/usr/bin/env bash
# Runs ./dev commits and ./dev changed-lines of the checkout $1 in a repository that it makes in the folder $2.
set -euo pipefail
checkout=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/.ci" "$folder/lib"
cp "$checkout/dev" "$folder/dev"
cp "$checkout/.ci/dev.py" "$folder/.ci/dev.py"
cd "$folder"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
git init --quiet --initial-branch=main .
commit() { git commit --quiet --allow-empty -m "$1" -m "A body; of any form."; }
# Prints the faults without the hashes of commits, and whether there are any.
faults() { if ./dev commits "$@" >faults; then echo passed; else echo failed; fi && sed 's/^[0-9a-f]*: //' faults; }

commit "Old subjects of main; not checked"
git switch --quiet -c branch
commit "sim: pass the clock to every wait"
commit "README: embed the figures"
commit "split-stores, take-turns: name the barriers"
diff <(faults) - <<'TEXT'
passed
subjects: 3 of 3 are "area: what"
TEXT
git branch --quiet marked
commit "sim: $(printf 'x%.0s' {1..68})"
commit "sim: name a wait; name a barrier"
commit "Waits have names"
commit "sim: added a wait"
diff <(faults) - <<'TEXT'
failed
the subject "sim: added a wait" begins with "added" in place of an imperative
the subject "Waits have names" does not begin with "area: "
the subject "sim: name a wait; name a barrier" has a ";": one topic a commit
the subject "sim: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" has 73 characters, at most 72 are read
subjects: 3 of 7 are "area: what"
TEXT
diff <(faults HEAD~1) - <<'TEXT'
failed
the subject "sim: added a wait" begins with "added" in place of an imperative
subjects: 0 of 1 are "area: what"
TEXT
git update-ref refs/remotes/origin/main HEAD  # goes before the local branch
diff <(faults) - <<'TEXT'
passed
subjects: 0 of 0 are "area: what"
TEXT

printf '%s\n' 1 2 3 4 5 6 7 8 9 >lib/kept.cpp
cp lib/kept.cpp lib/dropped.cpp
cp lib/kept.cpp lib/read.md
git add lib
commit "lib: add sources"
printf '%s\n' 1 new 3 4 5 6 7 8 two lines >lib/kept.cpp
sed -i 1d lib/dropped.cpp
sed -i 1d lib/read.md
diff <(./dev changed-lines HEAD) - <<'TEXT'
--line-filter=[{"name":"lib/kept.cpp","lines":[[2,2],[9,10]]}]
lib/kept.cpp
TEXT

cat >all.csv <<'TEXT'
filename,line_total,line_covered,line_percent
build/coverage/include_view/ir/tegula/ir/op.hpp,20,5,0.25
include/tegula/ir/op.hpp,20,10,0.5
build/coverage/include_view/sim/sim/value.hpp,10,10,1.0
lib/sim/value.cpp,30,30,1.0
TEXT
diff <(python3 .ci/dev.py coverage all.csv) - <<'TEXT'
folder                                 lines     run      %
include/tegula/ir                         20      10   50.0
lib/sim                                   40      40  100.0
all                                       60      50   83.3
lowest files:
  50.0  include/tegula/ir/op.hpp (10 of 20)
 100.0  lib/sim/value.cpp (30 of 30)
TEXT
