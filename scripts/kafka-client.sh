#!/usr/bin/env bash
# Installs the Kafka client that the tests and bench/kafka.js use, unless it is installed. It goes into a folder outside
# the repository, because it is not a dependency of the project (docs/decisions/0027-kafka-client.md says why).
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
