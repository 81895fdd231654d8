#!/usr/bin/env bash
# Installs the client library of Kafka that the tests and bench/kafka.js speak with, unless it is there: in a folder outside the
# repository, as it is not among the packages of the project (docs/decisions/0027-kafka-client.md says why).
set -euo pipefail
version=1.35.0
folder="${SLUICE_KAFKA_CLIENT:-$HOME/.cache/sluice-test/kafka-client-$version}"
[ -f "$folder/node_modules/@platformatic/kafka/package.json" ] && exit 0

mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo '{ "private": true }' > "$work/package.json"
npm install --prefix "$work" --no-audit --no-fund --ignore-scripts "@platformatic/kafka@$version"
rm -rf "$folder"
mv "$work" "$folder"
