#!/usr/bin/env bash
# Downloads the Kafka server for the tests from Maven, unless it is there, into a folder outside the repository.
set -euo pipefail
version=3.9.1
folder="${SLUICE_KAFKA_JARS:-$HOME/.cache/sluice-test/kafka-$version}"
ls "$folder"/kafka_2.13-$version.jar > /dev/null 2>&1 && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>sluice</groupId>
  <artifactId>kafka-for-tests</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>$version</version>
    </dependency>
  </dependencies>
</project>
POM
mvn -q -B -f "$work/pom.xml" dependency:copy-dependencies -DoutputDirectory="$work/jars"
mkdir -p "$(dirname "$folder")"
rm -rf "$folder"
mv "$work/jars" "$folder"
