import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Starts a config as `sluice run` does, in a process, a folder and, where the system lets us, a network of its own, so
 * that ports which this machine uses are free there and nothing outside of it is reached. Ends it as soon as it is
 * ready.
 *
 * @typedef {{ starts: boolean, reason?: string }} Start the reason is what the agent said last
 */
const READY_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 15_000;
const SLUICE = new URL("../../../bin/sluice.js", import.meta.url).pathname;

/** What is waited for must be logged, whatever level the config has, and in one form. */
const LOGS = ["level=info", "encoding=json"].map((each) => `service.telemetry.logs.${each}`);
const SETTINGS = ["--shutdown-timeout", "1s", ...LOGS.flatMap((each) => ["--set", each])];

/** What gives a command a network of its own, in which there is only itself: undefined where it cannot be had. */
const ownNetwork = [["--net"], ["--map-root-user", "--net"]].find(
  (options) => spawnSync("unshare", [...options, "ip", "link", "set", "lo", "up"]).status === 0,
);
export const hasOwnNetwork = ownNetwork !== undefined;

/** @param {string} file @param {Record<string, string>} env @returns {Promise<Start>} */
export async function tryStart(file, env) {
  const folder = await mkdtemp(join(tmpdir(), "sluice-corpus-"));
  try {
    return await startAndStop(file, { cwd: folder, env: { PATH: process.env.PATH, HOME: folder, ...env } });
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
  // The shell becomes the agent, so that the agent is the process that gets our signals.
  return ["unshare", [...ownNetwork, "sh", "-c", 'ip link set lo up && exec "$@"', "sh", ...argv]];
}

/** The errors of what the agent said; where there are none, its last line. @param {string} text */
function lastWords(text) {
  const errors = text
    .split("\n")
    .flatMap((line, at, lines) => (/^error: /.test(line) ? [line, lines[at + 1] ?? ""] : []));
  return errors.map((line) => line.trim()).join(" ") || text.trim().split("\n").at(-1) || "it said nothing";
}
