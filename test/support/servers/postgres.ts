import { execFile, execFileSync } from "node:child_process";
import { chmodSync, chownSync, copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { CONDITION_LIMIT_MS } from "../limits.js";
import { installedProgram, ServerProcess, type ServerSettings, serverFolder } from "./server-process.js";

const ROOT = "/usr/lib/postgresql";
const versions = existsSync(ROOT) ? readdirSync(ROOT).sort((a, b) => Number(b) - Number(a)) : [];
export const postgresProgram = installedProgram(
  "postgres",
  versions.map((version) => join(ROOT, version, "bin/postgres")),
);

/** A PostgreSQL of its own, with nothing in it. */
export interface Postgres {
  readonly endpoint: string;
  readonly port: number;
  readonly server: ServerProcess;
  /** The settings with which a component reaches it, as a superuser. */
  readonly keys: { readonly endpoint: string; readonly username: string; readonly database: string };
  /** Copies a file among its own. */
  putFile(name: string, from: string): void;
  /** A connection of the test's own. */
  connect(database?: string): Promise<Client>;
  close(): Promise<void>;
}

/** Beyond what all tests have. */
export interface PostgresSettings {
  /** Lines of pg_hba.conf before all others; who is ann needs a password unless they say otherwise. */
  readonly rules?: string;
  readonly options?: Readonly<Record<string, string>>;
  /** Files in the folder of its data, by the names they have there. */
  readonly files?: Readonly<Record<string, string>>;
}

/** About two seconds: one for all tests of a file. It does not wait for its disk: kills of processes are all it survives. */
export async function startPostgres(settings: PostgresSettings = {}): Promise<Postgres> {
  const folder = serverFolder("postgres");
  const user = serverUser();
  if (user !== undefined) chownSync(folder.path, user.uid, user.gid);
  const data = join(folder.path, "data");
  const init = ["-D", data, "-U", "sluice", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"];
  await promisify(execFile)(join(postgresProgram!, "../initdb"), init, { cwd: folder.path, ...user });
  // The user who runs the tests may do everything; ann needs a password.
  const rules = join(data, "pg_hba.conf");
  const first = settings.rules ?? "host all ann 127.0.0.1/32 scram-sha-256";
  writeFileSync(rules, `${first}\n${readFileSync(rules, "utf8")}`);
  const putFile = (name: string, from: string) => {
    copyFileSync(from, join(data, name));
    chmodSync(join(data, name), 0o600);
    if (user !== undefined) chownSync(join(data, name), user.uid, user.gid);
  };
  for (const [name, from] of Object.entries(settings.files ?? {})) putFile(name, from);
  const more = Object.entries(settings.options ?? {}).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
  const port = await freePort();
  const options = { port, host: "127.0.0.1", user: "sluice", database: "postgres" };
  const server = new PostgresProcess({
    program: postgresProgram!,
    args: ["-D", data, "-p", String(port), "-k", folder.path, "-h", "127.0.0.1", ...SMALL, ...more],
    folder: folder.path,
    ...user,
    isReady: async () => {
      const probe = new Client(options);
      probe.on("error", () => {});
      await probe.connect();
      await probe.end();
    },
  });
  await server.start();
  const clients: Client[] = [];
  return {
    endpoint: `127.0.0.1:${port}`,
    port,
    server,
    keys: { endpoint: `127.0.0.1:${port}`, username: "sluice", database: "postgres" },
    putFile,
    async connect(database = "postgres") {
      const client = new Client({ ...options, database });
      client.on("error", () => {});
      await client.connect();
      clients.push(client);
      return client;
    },
    async close() {
      await Promise.all(clients.map((client) => client.end().catch(() => {})));
      await server.kill();
      folder.remove();
    },
  };
}

const SMALL = ["-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_connections=50"];

/** Each of its processes leads a group of its own, and outlives a killed leader for a moment. */
class PostgresProcess extends ServerProcess {
  constructor(settings: ServerSettings) {
    super(settings);
  }

  /** A server whose processes of before are not all gone does not start. */
  override async start(): Promise<this> {
    const limit = Date.now() + CONDITION_LIMIT_MS;
    for (;;) {
      try {
        return await super.start();
      } catch (error) {
        if (Date.now() > limit || !/shared memory|lock file/.test(String(error))) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  override pause(): void {
    super.pause();
    for (const pid of childrenOf(this.pid)) process.kill(pid, "SIGSTOP");
  }

  override resume(): void {
    for (const pid of childrenOf(this.pid)) process.kill(pid, "SIGCONT");
    super.resume();
  }

  override async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const children = this.isRunning ? childrenOf(this.pid) : [];
    await super.kill(signal);
    for (const pid of children) end(pid, signal);
  }
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return text === "" ? [] : text.split(" ").map(Number);
}

function end(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, "SIGCONT");
    process.kill(pid, signal);
  } catch {
    // It is gone already.
  }
}

/** PostgreSQL does not run as root: then it runs as the user that its package has made. */
function serverUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const [uid, gid] = ["-u", "-g"].map((flag) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" })));
  return { uid: uid!, gid: gid! };
}
