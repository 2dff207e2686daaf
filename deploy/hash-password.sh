#!/bin/sh
# Reads a password from standard input and prints its bcrypt hash for nats-server. The prefix is $2a$, because
# nats-server reads other prefixes as variables. The cost is the lowest possible, because the password is
# random, and a higher cost would delay each connection. Needs htpasswd (apache2-utils, httpd-tools, macOS)
# or, on Linux, perl and openssl.
set -eu
if command -v htpasswd >/dev/null; then
  hash=$(htpasswd -inBC 4 leadwire | sed -n 's/^leadwire:\$2y/$2a/p')
else
  hash=$(perl -e 'chomp($password = <STDIN>); print crypt($password, $ARGV[0])' "\$2a\$04\$$(openssl rand -hex 11)")
fi
case $hash in
  '$2a$04$'*) echo "$hash" ;;
  *) echo "hash-password.sh: neither htpasswd nor a perl with bcrypt was found" >&2; exit 1 ;;
esac
