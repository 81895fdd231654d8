import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort, isOpen, waitOpen } from "./ports.js";
import { HAS_PROC, usageOf } from "./usage.js";

/**
 * Starts a subject between client and sink, and stops it.
 *
 * `usage` is what it has used so far; `stop` asks it to exit, and kills it after ten seconds. If a subject does not
 * open its port, or exits by itself, the error contains its last output.
 *
 * @typedef {{ name: string, port: number, ports: import("../subjects.js").Ports, readyMs: number,
 *   usage(): Promise<import("./usage.js").Usage | undefined>, stop(): Promise<void>, kill(): Promise<void>, reload(): void }} Running
 *   kill ends it with SIGKILL; reload asks it to read its config again
 * @typedef {Omit<import("../subjects.js").Place, "ports" | "folder"> & { sink: number, profile?: string | undefined,
 *   folder?: string }} Setting a folder given stays when the subject ends
 */
const READY_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 10_000;
const REPORTER = new URL("./usage-reporter.js", import.meta.url).href;

/** A subject that cannot be started; the message gives the reason. */
export class SubjectError extends Error {}

/** @type {Set<import("node:child_process").ChildProcess>} */
const alive = new Set();
process.on("exit", () => {
  for (const child of alive) kill(child, "SIGKILL");
});

/** @param {import("../subjects.js").Subject} subject @param {Setting} setting @returns {Promise<Running>} */
export async function startSubject(subject, { sink, profile, folder: given, ...setting }, pollMs = 10) {
  const ports = await choosePorts(subject, sink);
  const folder = given ?? (await mkdtemp(join(tmpdir(), `bench-${subject.name}-`)));
  const command = subject.command({ ...setting, ports, folder });
  for (const [name, text] of Object.entries(command.files ?? {})) await writeFile(join(folder, name), text);
  const started = performance.now();
  const child = spawnCommand(command, profile);
  const said = lastWords(child);
  const port = setting.encoding === "grpc" ? ports.grpc : ports.http;
  const ready = await waitOpen(
    port,
    () => child.exitCode === null && child.signalCode === null && performance.now() - started < READY_TIMEOUT_MS,
    pollMs,
  );
  const readyMs = performance.now() - started;
  const tidy = async () => given === undefined && rm(folder, { recursive: true, force: true });
  const stop = async () => {
    await end(child);
    await tidy();
  };
  const killNow = async () => {
    const exited = once(child, "exit");
    kill(child, "SIGKILL");
    await exited;
    await tidy();
  };
  if (!ready) {
    await stop();
    throw new SubjectError(`${subject.name} did not open port ${port}:\n${said()}`);
  }
  const reload = () => void child.kill("SIGHUP");
  return { name: subject.name, port, ports, readyMs, usage: () => usageOf(child), stop, kill: killNow, reload };
}

/** @param {import("../subjects.js").Subject} subject @param {number} sink */
async function choosePorts(subject, sink) {
  if (!subject.fixedPorts) {
    return { http: await freePort(), grpc: await freePort(), health: await freePort(), sink };
  }
  if (await isOpen(4318)) throw new SubjectError(`${subject.name} is to listen on 4318, where somebody else listens`);
  return { http: 4318, grpc: 4317, health: await freePort(), sink };
}

/** @param {import("../subjects.js").Command} command @param {string | undefined} profile */
function spawnCommand({ argv = [], shell, env }, profile) {
  const flags = [
    ...(profile ? ["--cpu-prof", `--cpu-prof-dir=${profile}`] : []),
    ...(HAS_PROC ? [] : ["--import", REPORTER]),
  ];
  const [program, args] = shell === undefined ? [process.execPath, [...flags, ...argv]] : [shell, []];
  /** @type {import("node:child_process").StdioOptions} */
  const stdio = ["ignore", "pipe", "pipe"];
  if (!HAS_PROC && shell === undefined) stdio.push("ipc");
  /** @type {import("node:child_process").ChildProcess} */
  const child = spawn(program, args, {
    shell: shell !== undefined,
    env: { ...process.env, ...env },
    stdio,
    detached: true, // its own process group, so that processes started by a shell end with it
  });
  alive.add(child);
  child.once("exit", () => alive.delete(child));
  return child;
}

/** The last output of a process, for error messages. @param {import("node:child_process").ChildProcess} child */
function lastWords(child) {
  let text = "";
  const keep = (/** @type {Buffer} */ chunk) => (text = (text + chunk).slice(-4000));
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  child.on("error", (error) => (text += error.message));
  return () => text;
}

/** @param {import("node:child_process").ChildProcess} child */
async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exited = once(child, "exit");
  kill(child, "SIGTERM");
  const timer = new AbortController();
  const late = delay(STOP_TIMEOUT_MS, undefined, { signal: timer.signal }).then(
    () => kill(child, "SIGKILL"),
    () => {},
  );
  await exited;
  timer.abort();
  await late;
}

/**
 * Sends a signal to the process group.
 * @param {import("node:child_process").ChildProcess} child @param {NodeJS.Signals} signal
 */
function kill(child, signal) {
  try {
    process.kill(-(/** @type {number} */ (child.pid)), signal);
  } catch {
    // it has already ended
  }
}
