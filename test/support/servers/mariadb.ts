import { execFile, execFileSync } from "node:child_process";
import { chmodSync, chownSync, copyFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { MysqlConnection } from "../../../src/runtime/brokers/mysql/mysql-connection.js";
import type { MysqlRow } from "../../../src/runtime/brokers/mysql/result-reader.js";
import { installedProgram, ServerProcess, serverFolder } from "./server-process.js";

export const mariadbProgram = installedProgram("MariaDB", ["/usr/sbin/mariadbd"]);

/** A MariaDB of its own, with nothing in it. Its user root needs no password over the socket. */
export interface MariaDb {
  readonly port: number;
  readonly endpoint: string;
  readonly socket: string;
  readonly server: ServerProcess;
  /** Runs statements as root, and returns the rows of the last one. */
  run(...statements: string[]): Promise<readonly MysqlRow[]>;
  close(): Promise<void>;
}

/** About three seconds: one for all tests of a file. */
export async function startMariaDb(
  options: readonly string[] = [],
  files: Readonly<Record<string, string>> = {},
): Promise<MariaDb> {
  const folder = serverFolder("mariadb");
  const user = serverUser();
  if (user !== undefined) chownSync(folder.path, user.uid, user.gid);
  for (const [name, from] of Object.entries(files)) {
    const path = join(folder.path, name);
    copyFileSync(from, path);
    chmodSync(path, 0o600);
    if (user !== undefined) chownSync(path, user.uid, user.gid);
  }
  const data = join(folder.path, "data");
  const common = ["--no-defaults", `--datadir=${data}`, ...SMALL];
  const install = [...common, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"];
  await promisify(execFile)("mariadb-install-db", install, { cwd: folder.path, ...user });
  const port = await freePort();
  const socket = join(folder.path, "s");
  const place = [`--socket=${socket}`, `--port=${port}`, "--bind-address=127.0.0.1", `--pid-file=${folder.path}/pid`];
  const settings = { address: { path: socket }, tls: undefined, database: "", program: "test", maxResultBytes: 1e8 };
  const credentials = { username: "root", password: "", allowsNativePassword: true, allowsClearPassword: false };
  const connect = () => MysqlConnection.open({ ...settings, credentials }, AbortSignal.timeout(10_000));
  const run = async (...statements: string[]) => {
    const connection = await connect();
    try {
      let rows: readonly MysqlRow[] = [];
      for (const statement of statements) rows = (await connection.query(statement, AbortSignal.timeout(60_000))).rows;
      return rows;
    } finally {
      connection.close();
    }
  };
  const server = new ServerProcess({
    program: mariadbProgram!,
    args: [...common, ...place, ...options],
    folder: folder.path,
    ...user,
    isReady: () => run("SELECT 1"),
  });
  await server.start();
  return {
    port,
    endpoint: `127.0.0.1:${port}`,
    socket,
    server,
    run,
    async close() {
      await server.kill();
      folder.remove();
    },
  };
}

const SMALL = ["--innodb-buffer-pool-size=8M", "--innodb-log-file-size=4M", "--innodb-flush-log-at-trx-commit=2"];

/** MariaDB does not run as root: then it runs as the user that its package has made. */
function serverUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const [uid, gid] = ["-u", "-g"].map((flag) => Number(execFileSync("id", [flag, "mysql"], { encoding: "utf8" })));
  return { uid: uid!, gid: gid! };
}
