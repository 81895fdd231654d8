import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect, credsAuthenticator, type NodeConnectionOptions, nkeys } from "@nats-io/transport-node";
import { describe, expect, it, onTestFinished } from "vitest";
import { natsProgram, startNats } from "../../../support/servers/nats.js";
import {
  CLIENT_TLS,
  FIRST_PASSWORD,
  type SecureServer,
  startRoundTrip,
  testSecurity,
} from "../../../support/servers/secure-broker.js";
import { until } from "../../../support/until.js";
import { TLS_FILES } from "../../net/tls/files.js";

interface SecureNats extends SecureServer {
  readonly url: string;
  /** A file with the seed of a user. */
  readonly nkey: string;
}

/** Every client needs a certificate. ann needs a password, and the other user an NKey. */
async function startSecureNats(): Promise<SecureNats> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-nats-tls-"));
  const at = (name: string) => join(folder, name);
  copyFileSync(TLS_FILES.serverCert, at("cert"));
  const user = nkeys.createUser();
  writeFileSync(at("seed"), `${Buffer.from(user.getSeed()).toString()}\n`);
  const writeConfig = (password: string) =>
    writeFileSync(
      at("nats.conf"),
      `jetstream { store_dir: "${at("data")}" }
tls { cert_file: "${at("cert")}", key_file: "${TLS_FILES.serverKey}", ca_file: "${TLS_FILES.ca}", verify: true }
authorization { users: [{user: ann, password: "${password}"}, {user: test, password: test}, {nkey: ${user.getPublicKey()}}] }
`,
    );
  writeConfig(FIRST_PASSWORD);
  const tls = {
    ca: readFileSync(TLS_FILES.ca, "utf8"),
    cert: readFileSync(TLS_FILES.clientCert, "utf8"),
    key: readFileSync(TLS_FILES.clientKey, "utf8"),
  };
  // The test does not check the server's certificate, which may have expired.
  const own = { user: "test", pass: "test", tls: { ...tls, rejectUnauthorized: false } } as NodeConnectionOptions;
  const nats = await startNats(["-c", at("nats.conf")], own);
  // A server gives up on a client that takes two seconds for TLS, which on a busy machine it may; the client waits on.
  const connectSoon = () => until(() => connect({ servers: nats.url, reconnect: false, timeout: 3000, ...own }));
  let names = 0;
  return {
    server: nats.server,
    url: nats.url,
    nkey: at("seed"),
    async pair(access) {
      const stream = `S${names++}`;
      const keys = { ...access, stream, logs: { subject: `${stream}.logs` } };
      const connection = await connectSoon();
      const manager = await jetstreamManager(connection);
      await manager.streams.add({ name: stream, subjects: [`${stream}.>`] }).finally(() => connection.close());
      return { exporters: { nats: keys }, receivers: { nats: { ...keys, ack_wait: "2s" } } };
    },
    async setPassword(password) {
      writeConfig(password);
      process.kill(nats.server.pid, "SIGHUP");
    },
    async setCertificate(file) {
      copyFileSync(file, at("cert"));
    },
    async close() {
      await nats.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

describe.skipIf(natsProgram === undefined)("nats with TLS and users", () => {
  it("carries what it is given: a token", async () => {
    const nats = await startNats(["-js", "-sd", temporaryFolder(), "--auth", FIRST_PASSWORD], {
      token: FIRST_PASSWORD,
    });
    onTestFinished(() => nats.close());
    const keys = { servers: nats.url, stream: "S", create_stream: true };
    const auth = { token: FIRST_PASSWORD };
    await expectCarried({ ...keys, auth });
    await expectRefused({ ...keys, auth: { token: "another-secret" } });
  });

  it("carries what it is given: a file with a user's JWT and seed, also when it is renewed", async () => {
    const folder = temporaryFolder();
    const file = join(folder, "user.creds");
    const operator = nkeys.createOperator();
    const account = nkeys.createAccount();
    const stranger = nkeys.createAccount();
    const limits = { subs: -1, data: -1, payload: -1, conn: -1, leaf: -1, imports: -1, exports: -1, wildcards: true };
    const storage = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
    const system = nkeys.createAccount();
    const accounts = [
      `${account.getPublicKey()}: ${jwt(account, operator, { type: "account", limits: { ...limits, ...storage } })}`,
      `${system.getPublicKey()}: ${jwt(system, operator, { type: "account", limits })}`,
    ];
    const config = [
      `operator: ${jwt(operator, operator, { type: "operator" })}`,
      `system_account: ${system.getPublicKey()}`,
      "resolver: MEMORY",
      `resolver_preload: { ${accounts.join(", ")} }`,
      `jetstream { store_dir: "${folder}" }`,
    ];
    writeFileSync(join(folder, "nats.conf"), config.join("\n"));
    const good = credentials(account);
    const probe = { authenticator: credsAuthenticator(Buffer.from(good)) };
    const nats = await startNats(["-c", join(folder, "nats.conf")], probe);
    onTestFinished(() => nats.close());
    const keys = { servers: nats.url, auth: { creds_file: file }, stream: "S", create_stream: true };
    writeFileSync(file, credentials(stranger));
    const trip = await expectRefused(keys);
    writeFileSync(file, good);
    await until(() => expect(trip.received()).toEqual(["a"]));
  });

  const auth = { user: "ann", password: FIRST_PASSWORD };
  testSecurity<SecureNats>({
    start: startSecureNats,
    right: {
      "a user with a password": ({ url }) => ({ servers: url, auth, tls: CLIENT_TLS }),
      "an NKey": ({ url, nkey }) => ({ servers: url, auth: { nkey_file: nkey }, tls: CLIENT_TLS }),
      "TLS to another name": ({ url }) => ({
        servers: url.replace("127.0.0.1", "127.1"),
        auth,
        tls: { ...CLIENT_TLS, server_name_override: "localhost" },
      }),
    },
    wrong: {
      "no user": ({ url }) => ({ access: { servers: url, tls: CLIENT_TLS }, says: /authorization violation/i }),
      "no client certificate": ({ url }) => ({
        access: { servers: url, auth, tls: { ca_file: TLS_FILES.ca }, connect_timeout: "1s" },
        says: /no answer from the server; it may require a client certificate/,
      }),
      "no TLS where the server wants it": ({ url }) => ({
        access: { servers: url, auth },
        says: /self-signed certificate|unable to verify/,
      }),
    },
    access: ({ url }, password, tls) => ({ servers: url, auth: { user: "ann", password }, tls }),
    elsewhere: (_server, host, port) => ({
      servers: `nats://${host}:${port}`,
      auth,
      tls: CLIENT_TLS,
      connect_timeout: "500ms",
    }),
    words: { password: /authorization violation/i, silence: /no answer/ },
  });
});

type KeyPair = ReturnType<typeof nkeys.createUser>;

/** Makes a token about the subject, signed by the issuer. */
function jwt(subject: KeyPair, issuer: KeyPair, nats: object): string {
  const part = (value: object | Uint8Array) =>
    Buffer.from(value instanceof Uint8Array ? value : JSON.stringify(value)).toString("base64url");
  const claims = { jti: "x", iat: 1, iss: issuer.getPublicKey(), sub: subject.getPublicKey(), name: "test" };
  const text = `${part({ typ: "JWT", alg: "ed25519-nkey" })}.${part({ ...claims, nats: { version: 2, ...nats } })}`;
  return `${text}.${part(issuer.sign(Buffer.from(text)))}`;
}

/** A file as `nsc` writes it, of a new user of the account. */
function credentials(account: KeyPair): string {
  const user = nkeys.createUser();
  const limits = { subs: -1, data: -1, payload: -1 };
  const block = (name: string, text: string) => `-----BEGIN ${name}-----\n${text}\n------END ${name}------\n\n`;
  return (
    block("NATS USER JWT", jwt(user, account, { type: "user", ...limits })) +
    block("USER NKEY SEED", Buffer.from(user.getSeed()).toString())
  );
}

const pairOf = (keys: object) => ({ exporters: { nats: keys }, receivers: { nats: keys } });

async function expectCarried(keys: object): Promise<void> {
  const trip = await startRoundTrip(pairOf(keys));
  await trip.hand("a");
  await until(() => expect(trip.received()).toEqual(["a"]));
}

async function expectRefused(keys: object) {
  const trip = await startRoundTrip(pairOf(keys));
  await trip.hand("a");
  await until(() => expect(trip.lastError()).toMatch(/authorization violation/i));
  await until(() => expect(trip.logged()).toMatch(/authorization violation/i));
  expect(trip.logged()).not.toContain("another-secret");
  return trip;
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-nats-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
