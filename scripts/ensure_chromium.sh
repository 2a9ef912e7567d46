#!/bin/sh
# Browser tests use Debian's chromium; installs it only when no browser is found.
set -eu
if [ -n "${CONTEXTOS_CHROMIUM:-}" ] || command -v chromium >/dev/null 2>&1; then
    exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "e2e: no chromium found; install it or set CONTEXTOS_CHROMIUM to a browser's path." >&2
    exit 2
fi
echo "e2e: installing chromium ..." >&2
apt-get update -qq >/dev/null
apt-get install -y -qq chromium fonts-liberation >/dev/null
