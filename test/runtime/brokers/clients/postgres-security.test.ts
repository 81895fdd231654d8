import type { Client } from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { createTableText } from "../../../../src/exporters/postgres/table-shape.js";
import { outboxKeys } from "../../../../src/receivers/outbox/config.js";
import { outboxMigration } from "../../../../src/receivers/outbox/migration.js";
import { postgresProgram, startPostgres } from "../../../support/servers/postgres.js";
import {
  CLIENT_TLS,
  FIRST_PASSWORD,
  type SecureServer,
  startRoundTrip,
  testSecurity,
} from "../../../support/servers/secure-broker.js";
import { until } from "../../../support/until.js";
import { TLS_FILES } from "../../net/tls/files.js";

interface SecurePostgres extends SecureServer {
  readonly endpoint: string;
}

/** ann needs TLS, a client certificate and a password; bob TLS alone and a password; carl the password alone. */
async function startSecurePostgres(): Promise<SecurePostgres> {
  const postgres = await startPostgres({
    rules: `hostssl all ann 127.0.0.1/32 scram-sha-256 clientcert=verify-ca
hostssl all bob 127.0.0.1/32 scram-sha-256
host all carl 127.0.0.1/32 scram-sha-256
host all ann,bob,carl 127.0.0.1/32 reject`,
    options: { ssl: "on", ssl_ca_file: "ca.crt", password_encryption: "scram-sha-256" },
    files: { "server.crt": TLS_FILES.serverCert, "server.key": TLS_FILES.serverKey, "ca.crt": TLS_FILES.ca },
  });
  const run = async (work: (db: Client) => Promise<unknown>) => {
    const db = await postgres.connect();
    await work(db).finally(() => db.end());
  };
  const setPasswords = (verb: string, password: string) =>
    run(async (db) => {
      for (const role of ["ann", "bob", "carl"])
        await db.query(`${verb} ROLE ${role} LOGIN SUPERUSER PASSWORD '${password}'`);
    });
  await setPasswords("CREATE", FIRST_PASSWORD);
  let names = 0;
  return {
    server: postgres.server,
    endpoint: postgres.endpoint,
    /** The database itself copies the exporter's rows into the outbox. */
    async pair(access) {
      const n = names++;
      const [table, outbox] = [`logs_${n}`, `outbox_${n}`];
      const keys = { database: "postgres", ...access };
      const exporter = { ...keys, logs: { table } };
      const receiver = { ...keys, table: outbox, encoding: "text", poll_interval: "200ms", notify_channel: "" };
      await run(async (db) => {
        await db.query(outboxMigration(outboxKeys.parse(receiver)));
        await db.query(`${createTableText("logs", table)}
          ALTER TABLE ${outbox} ALTER payload TYPE text;
          CREATE FUNCTION ${table}_put() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO ${outbox} (payload) VALUES (NEW.body); RETURN NEW; END $$;
          CREATE TRIGGER put AFTER INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION ${table}_put()`);
      });
      return { exporters: { postgres: exporter }, receivers: { outbox: receiver } };
    },
    setPassword: (password) => setPasswords("ALTER", password),
    async setCertificate(file) {
      postgres.putFile("server.crt", file);
    },
    close: () => postgres.close(),
  };
}

describe.skipIf(postgresProgram === undefined)("postgres with TLS and passwords", () => {
  const ann = { username: "ann", password: FIRST_PASSWORD };
  testSecurity<SecurePostgres>({
    start: startSecurePostgres,
    right: {
      "scram-sha-256": ({ endpoint }) => ({ endpoint, ...ann, username: "carl" }),
      "scram-sha-256 over TLS": ({ endpoint }) => ({
        endpoint,
        ...ann,
        username: "bob",
        tls: { ca_file: TLS_FILES.ca },
      }),
      "TLS with a client certificate": ({ endpoint }) => ({ endpoint, ...ann, tls: CLIENT_TLS }),
      "TLS with a certificate that is not looked at": ({ endpoint }) => ({
        endpoint,
        ...ann,
        username: "bob",
        tls: { insecure_skip_verify: true },
      }),
      "TLS to another name": ({ endpoint }) => ({
        endpoint: endpoint.replace("127.0.0.1", "127.1"),
        ...ann,
        tls: { ...CLIENT_TLS, server_name_override: "localhost" },
      }),
    },
    wrong: {
      "no such role": ({ endpoint }) => ({
        access: { endpoint, ...ann, username: "nobody", tls: CLIENT_TLS },
        says: /role \\?"nobody\\?" does not exist/,
      }),
      "no client certificate": ({ endpoint }) => ({
        access: { endpoint, ...ann, tls: { ca_file: TLS_FILES.ca } },
        says: /connection requires a valid client certificate/,
      }),
      "no TLS where the server wants it": ({ endpoint }) => ({
        access: { endpoint, ...ann },
        says: /pg_hba.conf rejects connection.*no encryption/,
      }),
    },
    access: ({ endpoint }, password, tls) => ({ endpoint, ...ann, password, tls }),
    elsewhere: (_server, host, port) => ({
      endpoint: `${host}:${port}`,
      ...ann,
      tls: CLIENT_TLS,
      connect_timeout: "500ms",
    }),
    words: { password: /password authentication failed/, silence: /timeout/ },
  });

  it("keeps queues there over TLS: says that the password is wrong, refuses what comes, and goes on once the server knows it", async () => {
    const server = await startSecurePostgres();
    onTestFinished(() => server.close());
    const { endpoint } = server;
    const keys = { endpoint, database: "postgres", username: "ann", password: "another-secret", tls: CLIENT_TLS };
    const pair = await server.pair({ endpoint, ...ann, tls: CLIENT_TLS });
    const trip = await startRoundTrip({ ...pair, reliability: { store: { postgres: { ...keys, timeout: "2s" } } } });
    await until(() => expect(trip.logged()).toMatch(/password authentication failed/));
    expect(trip.logged()).not.toContain("another-secret");
    await expect(trip.hand("early")).rejects.toThrow();
    await server.setPassword("another-secret");
    await until(() => trip.hand("a"));
    await server.setPassword(FIRST_PASSWORD);
    await until(() => expect(trip.received()).toContain("a"));
    expect(trip.received()).toEqual(["a"]);
  });
});
