#!/usr/bin/env bash
# Every brief changed since BASE is decided as it was and as it is; what moves becomes one comment.
# Nothing of a brief or its name is ever run: names travel as arguments after --, their text through files.
set -euo pipefail

out=$(mktemp -d)
comment="$out/comment.md"
marker="<!-- cabida: briefs -->"
changed=false
broken=false
if [ -z "${BASE:-}" ]; then
  echo "::error::Nothing to compare with. Run the action on pull_request, or give it base: a commit."
  exit 2
fi
git rev-parse --quiet --verify "$BASE^{commit}" >/dev/null || git fetch --quiet --depth 1 origin "$BASE"

options=(--format md --lang "${SPOKEN:-en}")
[ "${ASSUME:-false}" = "true" ] && options+=(--assume)
options+=(--as-of "${AS_OF:-$(date -u +%F)}")

# the files beside a brief (a trace) are those of the same commit: the base is checked out next to this tree
git worktree add --quiet --detach "$out/base" "$BASE"
trap 'git worktree remove --force "$out/base" >/dev/null 2>&1 || true' EXIT

{ echo "$marker"; echo; } >"$comment"
found=0
while IFS= read -r -d '' brief; do
  found=$((found + 1))
  shown=$(printf '%s' "$brief" | tr -d '[:cntrl:]`')
  if [ -L "$brief" ] || [ -L "$out/base/$brief" ]; then # what it leads to may be no brief, and an error would show it
    code=3
    : >"$out/said"
    echo "A link is not followed: put the brief itself there." >"$out/errors"
    kind=link
  elif [ ! -f "$out/base/$brief" ]; then
    code=0
    cabida recommend --out "$out/new" "${options[@]:2}" -- "$brief" >"$out/said" 2>"$out/errors" || code=$?
    kind=new
  elif [ ! -f "$brief" ]; then
    continue
  else
    code=0
    cabida diff "${options[@]}" "--heading=$shown" -- "$out/base/$brief" "$brief" >"$out/said" 2>"$out/errors" || code=$?
    kind=changed
  fi
  case $code in
    0) ;;
    4 | 7) changed=true ;;
    *) broken=true ;;
  esac
  if [ "$kind" = changed ] && { [ "$code" = 0 ] || [ "$code" = 4 ] || [ "$code" = 7 ]; } && [ -s "$out/said" ]; then
    cat "$out/said" >>"$comment"
  else # a new brief's answer, or why there is none, as plain text whatever is in it
    { echo "### \`$shown\`"; echo; sed 's/^/    /' "$out/said" "$out/errors" | head -c 20000; echo; } >>"$comment"
  fi
  echo >>"$comment"
done < <(git diff --name-only -z --diff-filter=AMR "$BASE" -- "${BRIEFS:-*.brief.yaml}")

{
  echo "winner-changed=$changed"
  [ "$found" = 0 ] && echo "comment-file=" || echo "comment-file=$comment"
} >>"${GITHUB_OUTPUT:-/dev/null}"
if [ "$found" = 0 ]; then
  echo "No brief of ${BRIEFS:-*.brief.yaml} was changed."
  exit 0
fi
cat "$comment" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
quiet=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n') # no line of a brief's or a file's name is a command to the runner
echo "::stop-commands::$quiet"
cat "$comment"
echo "::$quiet::"

if [ "${COMMENT:-true}" = "true" ] && [ -n "${PULL_REQUEST:-}" ]; then
  mine=$(gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments" \
    --jq ".[] | select(.body | startswith(\"$marker\")) | .id" | head -n 1)
  if [ -n "$mine" ]; then
    gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$mine" --field "body=@$comment" --silent
  else
    gh api --method POST "repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments" --field "body=@$comment" --silent
  fi
fi
if [ "$broken" = true ]; then
  echo "::error::A brief could not be decided; the comment says why."
  exit 3
fi
if [ "$changed" = true ] && [ "${FAIL_ON_CHANGE:-false}" = "true" ]; then
  echo "::error::The winner changes."
  exit 7
fi
