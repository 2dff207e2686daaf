#!/bin/sh
# Copies objects with rclone: ./rclone.sh FOLDER ARGUMENTS. In the arguments, `store:` is the stack's store,
# and /backup is the folder.
set -eu
folder=$1
shift
cd "$(dirname "$0")"
exec docker compose --profile tools run --rm --no-deps -T --user "$(id -u):$(id -g)" --volume "$folder:/backup" rclone "$@"
