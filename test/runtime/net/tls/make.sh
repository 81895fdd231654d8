#!/bin/sh
# Makes the certificates of this folder: a CA, a server (localhost, 127.0.0.1, ::1) and a client signed by it, and a
# second CA that signed nothing; and a server with an RSA key that signed itself. They are for tests on loopback only and are good for a hundred years,
# but for two of the server and the client that have expired.
set -e
cd "$(dirname "$0")"
new="openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500"
$new -x509 -subj "/CN=Sluice test CA" -keyout ca.key -out ca.crt
$new -x509 -subj "/CN=Another test CA" -keyout other.key -out other-ca.crt
for name in server client; do
  $new -subj "/CN=Sluice test $name" -keyout $name.key -out $name.csr
  printf 'subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1\n' >$name.ext
  openssl x509 -req -in $name.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 36500 -extfile $name.ext -out $name.crt
  openssl x509 -req -in $name.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days -1 -extfile $name.ext -out $name-expired.crt
done
openssl req -x509 -newkey rsa:2048 -nodes -days 36500 -subj "/CN=Sluice test server with RSA" \
  -addext "subjectAltName=DNS:localhost,IP:127.0.0.1" -keyout rsa.key -out rsa.crt
rm -f *.csr *.ext *.srl ca.key other.key
