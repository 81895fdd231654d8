import { mkdtempSync, rmSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { listeningLogger } from "../../exporters/support.js";
import { TLS_FILES } from "../../runtime/net/tls/files.js";
import { collectingExporter } from "../collecting-exporter.js";
import { cleanUp, startFed } from "../fed-agent.js";
import { TEST_LIMIT_MS } from "../limits.js";
import { bodies, logs } from "../telemetry/batches.js";
import { until } from "../until.js";
import type { ServerProcess } from "./server-process.js";

/** The keys of a config that say how the server is reached, and as whom. */
export type Access = Readonly<Record<string, unknown>>;

/** The settings with which an agent writes to the server and reads the same data back. */
export interface Pair {
  readonly exporters: Readonly<Record<string, object>>;
  readonly receivers: Readonly<Record<string, object>>;
  /** Keys of the extension that keeps the queues. */
  readonly reliability?: object;
}

/** A server that lets in only whom it knows, over TLS. */
export interface SecureServer {
  readonly server: ServerProcess;
  /** With an exporter and a receiver that reach it so; each pair has a topic, queue or table of its own. */
  pair(access: Access): Promise<Pair>;
  /** Those who have this password are let in from now on; `access` of the suite says what it was at first. */
  setPassword(password: string): Promise<void>;
  /** From its next start it shows this certificate. */
  setCertificate(file: string): Promise<void>;
  close(): Promise<void>;
}

export interface Wrong {
  readonly access: Access;
  /** The error that the receiver and the exporter must report. */
  readonly says: RegExp;
}

/** The tests of a server that is reached over TLS. */
export interface SecuritySuite<S extends SecureServer> {
  start(): Promise<S>;
  /** Ways to be let in, by what they are called. */
  readonly right: Readonly<Record<string, (server: S) => Access>>;
  /** Ways to be refused. */
  readonly wrong: Readonly<Record<string, (server: S) => Wrong>>;
  /** By a user with the password, over TLS with these files. */
  access(server: S, password: string, tls: object): Access;
  /** Over TLS to another address. */
  elsewhere(server: S, host: string, port: number): Access;
  /** The errors for a wrong password, and for one that cannot be read. */
  readonly words: { readonly password: RegExp; readonly silence: RegExp };
}

/** The password that a user has at first. */
export const FIRST_PASSWORD = "a-secret-of-tests";

/** A client's side of TLS as it should be. */
export const CLIENT_TLS = {
  ca_file: TLS_FILES.ca,
  cert_file: TLS_FILES.clientCert,
  key_file: TLS_FILES.clientKey,
} as const;

/** Some servers take long to start, and this test starts one three times. */
const SEVERAL_STARTS_MS = 2 * TEST_LIMIT_MS;

/** An agent that is handed batches, writes them to a server and reads them back. */
export async function startRoundTrip({ exporters, receivers, reliability = {} }: Pair) {
  const sink = collectingExporter();
  const logger = listeningLogger();
  const quick = {
    timeout: "5s",
    retry_on_failure: { initial_interval: "100ms", max_interval: "500ms" },
    circuit_breaker: { reset_timeout: "200ms" },
  };
  const config = (directory: string) => ({
    exporters: {
      ...Object.fromEntries(Object.entries(exporters).map(([id, keys]) => [id, { ...quick, ...keys }])),
      collect: { sending_queue: { enabled: false } },
    },
    extensions: { reliability: { directory, ...reliability } },
    service: {
      extensions: ["reliability"],
      pipelines: {
        "logs/out": { receivers: ["hand"], exporters: Object.keys(exporters) },
        "logs/back": { receivers: Object.keys(receivers), exporters: ["collect"] },
      },
    },
  });
  const yamlOf = (directory: string) =>
    Object.entries(config(directory))
      .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
      .join("");
  const { agent, hand } = await startFed(yamlOf, { receivers, components: [sink.factory], logger });
  onTestFinished(cleanUp);
  const status = () => agent.admin!.exporters().filter(({ id }) => id !== "collect");
  return {
    agent,
    hand: async (text: string) => expect(await hand(logs(text))).toMatchObject({ ok: true }),
    /** All that came back, each once however often it came. */
    received: () => [...new Set(sink.batches.flatMap(bodies))].sort(),
    logged: () => JSON.stringify(logger.lines),
    /** The error of the exporter's last attempt. */
    lastError: () => status()[0]?.lastError?.message ?? "",
    deadLetters: () => status().reduce((sum, { deadLetters }) => sum + deadLetters.entries, 0),
  };
}

/** Each test is one of a server of its own; the server is shared, and as it was when a test ends. */
export function testSecurity<S extends SecureServer>(suite: SecuritySuite<S>): void {
  let server: S;
  beforeAll(async () => {
    server = await suite.start();
  }, TEST_LIMIT_MS);
  afterAll(() => server?.close());

  const start = async (access: Access) => startRoundTrip(await server.pair(access));
  const rightful = () => suite.access(server, FIRST_PASSWORD, CLIENT_TLS);

  /** Nothing is accepted, both sides log the reason, and no log contains a secret. The data is kept. */
  async function expectRefused(trip: Awaited<ReturnType<typeof start>>, says: RegExp, secrets: readonly string[]) {
    await until(() => expect(trip.lastError()).toMatch(says));
    await until(() => expect(trip.logged()).toMatch(says));
    for (const secret of secrets) expect(trip.logged() + trip.lastError()).not.toContain(secret);
    expect(trip.received()).toEqual([]);
    expect(trip.deadLetters()).toBe(0);
  }

  it.each(Object.entries(suite.right))("carries what it is given: %s", async (_name, access) => {
    const trip = await start(access(server));
    await trip.hand("a");
    await until(() => expect(trip.received()).toEqual(["a"]));
  });

  it.each(Object.entries(suite.wrong))("says what is wrong, and goes on serving: %s", async (_name, wrong) => {
    const { access, says } = wrong(server);
    const trip = await start(access);
    await trip.hand("a");
    await expectRefused(trip, says, [FIRST_PASSWORD]);
    await trip.hand("b");
  });

  it("says that a password is wrong, and goes on once the server knows it", async () => {
    const trip = await start(suite.access(server, "another-secret", CLIENT_TLS));
    await trip.hand("a");
    await expectRefused(trip, suite.words.password, ["another-secret"]);
    await server.setPassword("another-secret");
    await until(() => expect(trip.received()).toEqual(["a"]));
    await server.setPassword(FIRST_PASSWORD);
  });

  it("reads the files of TLS again: another CA and a renewed certificate are taken without a restart", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-tls-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const files = { ca_file: join(folder, "ca"), cert_file: join(folder, "cert"), key_file: TLS_FILES.clientKey };
    await copyFile(TLS_FILES.otherCa, files.ca_file);
    await copyFile(TLS_FILES.clientExpiredCert, files.cert_file);
    const trip = await start(suite.access(server, FIRST_PASSWORD, files));
    await trip.hand("a");
    await expectRefused(trip, /self-signed certificate in certificate chain|unable to (get|verify)|signature/i, [
      FIRST_PASSWORD,
    ]);
    await copyFile(TLS_FILES.ca, files.ca_file);
    await copyFile(TLS_FILES.clientCert, files.cert_file);
    await until(() => expect(trip.received()).toEqual(["a"]));
  });

  it(
    "loses nothing when the server is killed in mid-batch, shows a certificate that has expired, or has another password",
    async () => {
      const trip = await start(rightful());
      await trip.hand("0");
      await until(() => expect(trip.received()).toEqual(["0"]));
      const texts = Array.from({ length: 60 }, (_, i) => String(i));
      const handing = (async () => {
        for (const text of texts.slice(1)) await trip.hand(text);
      })();
      await server.server.kill();
      await server.setCertificate(TLS_FILES.serverExpiredCert);
      await server.server.start();
      await handing;
      await until(() => expect(trip.lastError()).toMatch(/certificate has expired/));
      await until(() => expect(trip.logged()).toMatch(/certificate has expired/));
      await server.server.kill();
      await server.setCertificate(TLS_FILES.serverCert);
      await server.server.start();
      await until(() => expect(trip.received()).toEqual(texts.toSorted()));
      await server.setPassword("rotated-secret");
      await server.server.kill();
      await server.server.start();
      await trip.hand("last");
      await until(() => expect(trip.lastError()).toMatch(suite.words.password));
      await server.setPassword(FIRST_PASSWORD);
      await until(() => expect(trip.received()).toEqual([...texts, "last"].toSorted()));
      expect(trip.deadLetters()).toBe(0);
    },
    SEVERAL_STARTS_MS,
  );

  it("does not hang with a server that says nothing, and starts, says so and stops", async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => sockets.add(socket.on("error", () => {})));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const trip = await start(suite.elsewhere(server, "127.0.0.1", (silent.address() as AddressInfo).port));
    await trip.hand("a");
    await expectRefused(trip, suite.words.silence, [FIRST_PASSWORD]);
    await trip.agent.stop(1000);
  });

  it("says that a name is gone, and stops", async () => {
    const trip = await start(suite.elsewhere(server, "gone.invalid", 1));
    await trip.hand("a");
    await expectRefused(trip, /ENOTFOUND|EAI_AGAIN/, [FIRST_PASSWORD]);
    await trip.agent.stop(1000);
  });
}
