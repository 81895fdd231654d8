#!/usr/bin/env bash
# Downloads ElasticMQ, a server that speaks the protocol of SQS, from Maven for the tests, unless it is there. It goes into
# a folder outside the repository.
set -euo pipefail
version=1.7.1
folder="${SLUICE_ELASTICMQ_JARS:-$HOME/.cache/sluice-test/elasticmq-$version}"
ls "$folder"/elasticmq-server_2.13-$version.jar > /dev/null 2>&1 && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>sluice</groupId>
  <artifactId>elasticmq-for-tests</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.elasticmq</groupId>
      <artifactId>elasticmq-server_2.13</artifactId>
      <version>$version</version>
    </dependency>
  </dependencies>
</project>
POM
mvn -q -B -f "$work/pom.xml" dependency:copy-dependencies -DoutputDirectory="$work/jars"
mkdir -p "$(dirname "$folder")"
rm -rf "$folder"
mv "$work/jars" "$folder"
