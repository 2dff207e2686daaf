#!/bin/sh
# Prints the password on its standard input as nats-server keeps it: bcrypt, $2a$ because others pass for variables of its
# configuration, and the least cost because the password is random and a higher one would delay each connection.
# Needs htpasswd (apache2-utils, httpd-tools, macOS), or perl on Linux and openssl.
set -eu
if command -v htpasswd >/dev/null; then
  hash=$(htpasswd -inBC 4 leadwire | sed -n 's/^leadwire:\$2y/$2a/p')
else
  hash=$(perl -e 'chomp($password = <STDIN>); print crypt($password, $ARGV[0])' "\$2a\$04\$$(openssl rand -hex 11)")
fi
case $hash in
  '$2a$04$'*) echo "$hash" ;;
  *) echo "hash-password.sh: there is neither htpasswd nor a perl that knows bcrypt" >&2; exit 1 ;;
esac
