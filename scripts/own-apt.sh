# shellcheck shell=bash
# For scripts that unpack packages of Debian or Ubuntu without installing them; to be sourced.

# apt-get with package lists, cache and locks of its own in folder $1, an absolute path, so that it needs neither root nor lists
# on the machine.
own_apt_get() {
  local own=$1
  shift
  mkdir -p "$own/lists/partial" "$own/cache/archives/partial"
  apt-get -qq -o APT::Sandbox::User=root -o Dir::State::lists="$own/lists" -o Dir::Cache="$own/cache" \
    -o Debug::NoLocking=1 "$@"
}
