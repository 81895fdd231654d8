import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Starts a config as `sluice run` does, in its own process, folder and, if the system allows it, network, so that used
 * ports of this machine are free there and nothing outside is reached. Stops it as soon as it is ready.
 *
 * @typedef {{ starts: boolean, reason?: string }} Start the reason is what the agent said last
 */
const READY_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 15_000;
const SLUICE = new URL("../../../bin/sluice.js", import.meta.url).pathname;

const UNKNOWN_HOST = /cannot listen on ([\w.-]+):\d+: the host name is not known here/;

/** The awaited messages must be logged, whatever the config's level, and in a known format. */
const LOGS = ["level=info", "encoding=json"].map((each) => `service.telemetry.logs.${each}`);
const SETTINGS = ["--shutdown-timeout", "1s", ...LOGS.flatMap((each) => ["--set", each])];

/** Options of `unshare` that give a command its own isolated network; undefined if that is not possible. */
const ownNetwork = [
  ["--net", "--mount"],
  ["--map-root-user", "--net", "--mount"],
].find((options) => spawnSync("unshare", [...options, "ip", "link", "set", "lo", "up"]).status === 0);
export const hasOwnNetwork = ownNetwork !== undefined;

/**
 * A config of a container may listen on the container's own name, which is not known here. Such a config is started
 * again with that name for this machine.
 *
 * @param {string} file @param {Record<string, string>} env @returns {Promise<Start>}
 */
export async function tryStart(file, env) {
  const folder = await mkdtemp(join(tmpdir(), "sluice-corpus-"));
  const place = { cwd: folder, env: { PATH: process.env.PATH, HOME: folder, ...env } };
  try {
    const start = await startAndStop(file, place);
    const [, host] = UNKNOWN_HOST.exec(start.reason ?? "") ?? [];
    if (host === undefined || !hasOwnNetwork) return start;
    const hosts = join(folder, "hosts");
    await writeFile(hosts, `127.0.0.1 localhost ${host}\n`);
    return await startAndStop(file, { ...place, env: { ...place.env, HOSTS_FILE: hosts } });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param {string} file @param {{ cwd: string, env: NodeJS.ProcessEnv }} place @returns {Promise<Start>} */
function startAndStop(file, place) {
  const child = spawn(...command([process.execPath, SLUICE, "run", "--config", file, ...SETTINGS]), {
    ...place,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  let isReady = false;
  let isLate = false;
  let timer = setTimeout(() => {
    isLate = true;
    child.kill("SIGKILL");
  }, READY_LIMIT_MS);
  child.stderr.setEncoding("utf8").on("data", (text) => {
    said = `${said}${text}`.slice(-100_000);
    if (isReady || !/"msg":"ready"/.test(said)) return;
    isReady = true;
    clearTimeout(timer);
    timer = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
    child.kill("SIGTERM");
  });
  return new Promise((resolve) => {
    child.on("close", () => {
      clearTimeout(timer);
      if (isReady) return resolve({ starts: true });
      resolve({ starts: false, reason: isLate ? `not ready after ${READY_LIMIT_MS / 1000} s` : lastWords(said) });
    });
  });
}

/** @param {string[]} argv @returns {[string, string[]]} */
function command(argv) {
  if (ownNetwork === undefined) return [argv[0], argv.slice(1)];
  // exec replaces the shell by the agent, so that the agent gets our signals.
  const script = 'ip link set lo up && { [ -z "$HOSTS_FILE" ] || mount --bind "$HOSTS_FILE" /etc/hosts; } && exec "$@"';
  return ["unshare", [...ownNetwork, "sh", "-c", script, "sh", ...argv]];
}

/** The errors in the agent's output, or its last line if there are none. @param {string} text */
function lastWords(text) {
  const errors = text
    .split("\n")
    .flatMap((line, at, lines) => (/^error: /.test(line) ? [line, lines[at + 1] ?? ""] : []));
  return errors.map((line) => line.trim()).join(" ") || text.trim().split("\n").at(-1) || "it said nothing";
}
