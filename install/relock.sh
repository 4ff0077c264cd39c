# Runs relock as a step of a workflow, on Linux and macOS: gets the program that
# this commit of the action belongs to, and becomes it.
#
# It is for any POSIX shell, with the tools of an Alpine container. Inputs come as
# environment variables and go on as such; none is part of a command's text.
set -eu

# The texts are ours: what comes from outside could end the runner's command and
# begin another.
fail() {
  printf '::error title=relock::%s\n' "$1"
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# The events on which the workspace is the base branch's, as internal/action has them. On
# every other event a pull request may have put files there.
base_events='schedule workflow_dispatch repository_dispatch push issue_comment'

# resolve prints where a file is when all links are followed.
resolve() {
  name=$1 links=0
  while [ -L "$name" ]; do
    links=$((links + 1))
    [ "$links" -le 40 ] || return 1
    to=$(readlink "$name") || return 1
    case $to in
    /*) name=$to ;;
    *) name=${name%/*}/$to ;;
    esac
  done
  folder=$(CDPATH='' cd -P -- "${name%/*}/" && pwd -P) || return 1
  printf '%s/%s\n' "${folder%/}" "${name##*/}"
}

# A runner without a way to the releases has the program already.
if [ -n "${RELOCK_BINARY:-}" ]; then
  no_program='the input binary names no program that can be run here'
  program=$(command -v -- "$RELOCK_BINARY") || program=
  case $program in
  */*) ;; # else it is part of the shell
  *) program= ;;
  esac
  if [ ! -f "$program" ] || [ ! -x "$program" ]; then
    [ ! -d "$RELOCK_BINARY" ] || fail 'the input binary names a directory; name the program in it'
    fail "$no_program"
  fi
  program=$(resolve "$program") || fail 'the links of the program that the input binary names cannot be followed'
  case " $base_events " in
  *" ${GITHUB_EVENT_NAME:-none} "*) ;;
  *)
    workspace=$(CDPATH='' cd -P -- "${GITHUB_WORKSPACE:-.}" && pwd -P) || fail 'the workspace cannot be opened'
    case $program in
    "${workspace%/}"/*) fail 'the input binary names a program in the workspace, where a pull request could put another: keep it elsewhere, as in a folder of the runner' ;;
    esac
    ;;
  esac
  exec "$program" action
fi

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) os=other ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) arch=other ;;
esac

# A folder of this step alone: nothing that an earlier one left is run.
dir=$(mktemp -d "${RUNNER_TEMP:-/tmp}/relock.XXXXXX") || fail 'no folder can be made in RUNNER_TEMP'

# checksums.txt has lines as sha256sum writes them. It stands in the same commit
# as this script, so that whoever pins the action by a commit pins the program.
while read -r sum archive || [ -n "$sum" ]; do
  case $archive in
  relock_*_"${os}_$arch.tar.gz") break ;;
  esac
  sum=
done <"$GITHUB_ACTION_PATH/install/checksums.txt"

# build makes the program from the source beside this script.
build() {
  has go || fail 'this commit of the action has no release for this machine, and there is no Go to build it with. Use a release, like relock-dev/relock@v1; or run actions/setup-go before; or name a program with the input binary'
  # The workflow's own settings of Go are about the workflow's own code.
  (cd "$GITHUB_ACTION_PATH" && CGO_ENABLED=0 GOFLAGS='' GOWORK=off go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$dir/relock" .) ||
    fail 'building relock with the Go of this runner went wrong; the lines above say why'
}

# fetch downloads the archive. A server's 5xx curl tries again by itself, after a
# while; a download that broke off is worth a second one at once.
fetch() {
  if has curl; then
    set -- curl -fsSL --globoff --retry 2 --connect-timeout 20 --max-time 300 -o "$dir/$archive" -- "$1"
  elif has wget; then
    set -- wget -q -O "$dir/$archive" -- "$1"
  else
    fail 'neither curl nor wget is here to download relock with: install one, or name a program with the input binary'
  fi
  "$@" || "$@" || fail "$archive cannot be downloaded: is there a way to github.com from here, and is this a release? The inputs download-url and binary are for runners without"
}

# verify compares the archive's checksum with the one in this commit.
verify() {
  if has sha256sum; then
    found=$(sha256sum <"$dir/$archive")
  elif has shasum; then
    found=$(shasum -a 256 <"$dir/$archive")
  else
    fail 'neither sha256sum nor shasum is here to check the download with: install one, or name a program with the input binary'
  fi
  [ "${found%% *}" = "$sum" ] ||
    fail "$archive is not the file of this release: its checksum is ${found%% *}, and this commit of the action names $sum. Nothing of it was run"
}

if [ -n "$sum" ]; then
  version=${archive#relock_}
  version=${version%_"$os"_"$arch".tar.gz}
  from=${RELOCK_DOWNLOAD_URL:-https://github.com/relock-dev/relock/releases/download}
  case $from in
  https://* | http://*) ;;
  *) fail 'the input download-url is no address that begins with https:// or http://' ;;
  esac
  fetch "${from%/}/v$version/$archive"
  verify
  tar -xzf "$dir/$archive" -C "$dir" relock || fail "$archive cannot be unpacked"
else
  build
fi

# A runner stops a step by signals to its first process, which is relock from here
# on.
exec "$dir/relock" action
