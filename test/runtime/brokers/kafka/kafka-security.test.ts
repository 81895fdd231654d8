import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { hasKafka, startKafka } from "../../../support/servers/kafka.js";
import { CLIENT_TLS, FIRST_PASSWORD, type SecureServer, testSecurity } from "../../../support/servers/secure-broker.js";
import { TLS_FILES } from "../../net/tls/files.js";

interface SecureKafka extends SecureServer {
  /** Listeners by what they want. */
  readonly sasl: string;
  readonly saslTls: string;
  readonly tls: string;
}

const MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];

/** On the listener TLS everybody needs a certificate, on the others a password; ann's of SCRAM-SHA-512 can be changed. */
async function startSecureKafka(): Promise<SecureKafka> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-kafka-tls-"));
  const keys = join(folder, "keys.pem");
  const setCertificate = (file: string) =>
    writeFileSync(keys, readFileSync(TLS_FILES.serverKey, "utf8") + readFileSync(file, "utf8"));
  setCertificate(TLS_FILES.serverCert);
  const ports = { sasl: await freePort(), saslTls: await freePort(), tls: await freePort() };
  const plain = "org.apache.kafka.common.security.plain.PlainLoginModule required";
  const scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;";
  const login = (listener: string) => ({
    [`listener.name.${listener}.sasl.enabled.mechanisms`]: MECHANISMS.join(","),
    [`listener.name.${listener}.plain.sasl.jaas.config`]: `${plain} user_plain="${FIRST_PASSWORD}";`,
    [`listener.name.${listener}.scram-sha-256.sasl.jaas.config`]: scram,
    [`listener.name.${listener}.scram-sha-512.sasl.jaas.config`]: scram,
  });
  const users = MECHANISMS.slice(1).map((mechanism) => `${mechanism}=[name=ann,password=${FIRST_PASSWORD}]`);
  const kafka = await startKafka(
    {
      more_listeners: `LOGIN://127.0.0.1:${ports.sasl},SAFE://127.0.0.1:${ports.saslTls},CERTIFIED://127.0.0.1:${ports.tls}`,
      "listener.security.protocol.map":
        "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,LOGIN:SASL_PLAINTEXT,SAFE:SASL_SSL,CERTIFIED:SSL",
      ...login("login"),
      ...login("safe"),
      "listener.name.certified.ssl.client.auth": "required",
      "ssl.keystore.type": "PEM",
      "ssl.keystore.location": keys,
      "ssl.truststore.type": "PEM",
      "ssl.truststore.location": TLS_FILES.ca,
    },
    users,
  );
  const at = (port: number) => `127.0.0.1:${port}`;
  let names = 0;
  return {
    server: kafka.server,
    sasl: at(ports.sasl),
    saslTls: at(ports.saslTls),
    tls: at(ports.tls),
    async pair(access) {
      const topic = await kafka.createTopic(`logs-${names++}`);
      const group = { group_id: topic, initial_offset: "earliest", session_timeout: "2s", rebalance_timeout: "5s" };
      const quick = { heartbeat_interval: "200ms", autocommit: { interval: "50ms" } };
      return {
        exporters: { kafka: { ...access, logs: { topic } } },
        receivers: { kafka: { ...access, ...group, ...quick, logs: { topic } } },
      };
    },
    async setPassword(password) {
      const about = ["--alter", "--entity-type", "users", "--entity-name", "ann"];
      await kafka.run("kafka.admin.ConfigCommand", ...about, "--add-config", `SCRAM-SHA-512=[password=${password}]`);
    },
    async setCertificate(file) {
      setCertificate(file);
    },
    async close() {
      await kafka.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

describe.skipIf(!hasKafka)("kafka with TLS and SASL", () => {
  const sasl = (mechanism: string, password = FIRST_PASSWORD) => ({
    sasl: { username: mechanism === "PLAIN" ? "plain" : "ann", password, mechanism },
  });
  const overTls = (mechanism: string) => (kafka: SecureKafka) => ({
    brokers: [kafka.saslTls],
    auth: sasl(mechanism),
    tls: { ca_file: TLS_FILES.ca },
  });
  const overTcp = (mechanism: string) => (kafka: SecureKafka) => ({ brokers: [kafka.sasl], auth: sasl(mechanism) });
  testSecurity<SecureKafka>({
    start: startSecureKafka,
    right: {
      ...Object.fromEntries(MECHANISMS.map((mechanism) => [`SASL_PLAINTEXT, ${mechanism}`, overTcp(mechanism)])),
      ...Object.fromEntries(MECHANISMS.map((mechanism) => [`SASL_SSL, ${mechanism}`, overTls(mechanism)])),
      "TLS with a client certificate": ({ tls }) => ({ brokers: [tls], tls: CLIENT_TLS }),
      "TLS to another name": ({ saslTls }) => ({
        brokers: [saslTls.replace("127.0.0.1", "127.1")],
        auth: sasl("SCRAM-SHA-512"),
        tls: { ...CLIENT_TLS, server_name_override: "localhost" },
      }),
    },
    wrong: {
      ...Object.fromEntries(
        MECHANISMS.map((mechanism) => [
          `another password, ${mechanism}`,
          ({ saslTls }: SecureKafka) => ({
            access: { brokers: [saslTls], auth: sasl(mechanism, "not-the-one"), tls: CLIENT_TLS },
            says: /authentication failed/i,
          }),
        ]),
      ),
      "no client certificate": ({ tls }) => ({
        access: { brokers: [tls], tls: { ca_file: TLS_FILES.ca } },
        says: /bad certificate|certificate required|closed/i,
      }),
      "no TLS where the server wants it": ({ saslTls }) => ({
        access: { brokers: [saslTls], auth: sasl("PLAIN"), connect_timeout: "1s", request_timeout: "1s" },
        says: /closed|timed out|reset/i,
      }),
      "TLS where the server has none": ({ sasl: broker }) => ({
        access: { brokers: [broker], auth: sasl("PLAIN"), tls: CLIENT_TLS, connect_timeout: "1s" },
        says: /TLS handshake failed|is it TLS/,
      }),
    },
    access: ({ saslTls }, password, tls) => ({ brokers: [saslTls], auth: sasl("SCRAM-SHA-512", password), tls }),
    elsewhere: (_server, host, port) => ({
      brokers: [`${host}:${port}`],
      auth: sasl("SCRAM-SHA-512"),
      tls: CLIENT_TLS,
      connect_timeout: "500ms",
    }),
    words: { password: /authentication failed/i, silence: /timed out/ },
  });
});
