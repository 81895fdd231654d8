import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { freePort } from "../lib/processes/ports.js";

const ROOT = "/usr/lib/postgresql";

/** Folder with the programs of Debian's newest PostgreSQL. */
function programs() {
  const versions = existsSync(ROOT) ? readdirSync(ROOT).sort((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(ROOT, version, "bin")).find((folder) => existsSync(join(folder, "initdb")));
}

/** Why PostgreSQL is not available; undefined when it is. */
export function missingPostgres() {
  return programs() === undefined ? "Debian's postgresql is not installed" : undefined;
}

/** Starts a PostgreSQL server with this many tables. `query` opens its own connection. */
export async function startPostgres(/** @type {number} */ tables) {
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-postgres-"));
  const user = serverUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const [bin, data] = [/** @type {string} */ (programs()), join(folder, "data")];
  const init = ["-D", data, "-U", "bench", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"];
  execFileSync(join(bin, "initdb"), init, { cwd: folder, stdio: "ignore", ...user });
  const port = await freePort();
  const args = ["-D", data, "-p", String(port), "-k", folder, "-h", "127.0.0.1", "-c", "fsync=off"];
  const child = spawn(join(bin, "postgres"), args, { cwd: folder, stdio: "ignore", ...user });
  const query = async (/** @type {string} */ text) => {
    const client = new pg.Client({ host: "127.0.0.1", port, user: "bench", database: "postgres" });
    client.on("error", () => {});
    await client.connect();
    try {
      return await client.query(text);
    } finally {
      await client.end();
    }
  };
  const create = Array.from({ length: tables }, (_, i) => `CREATE TABLE t${i} (id int PRIMARY KEY, name text);`);
  for (let tries = 0; ; tries++) {
    try {
      await query(create.join("\n"));
      break;
    } catch (error) {
      if (child.exitCode !== null || tries > 600) throw error;
      await delay(50);
    }
  }
  const stop = async () => {
    child.kill("SIGINT"); // closes its connections and exits
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  return { endpoint: `127.0.0.1:${port}`, username: "bench", query, stop };
}

/** PostgreSQL refuses to run as root; then it runs as the user that its package has created. */
function serverUser() {
  if (process.getuid?.() !== 0) return undefined;
  const [uid, gid] = ["-u", "-g"].map((flag) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" })));
  return { uid, gid };
}
