import { createHash } from "node:crypto";
import { rm, stat } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makePrivateDirectory } from "#system";
import { StoreError } from "../../store.js";

/**
 * Holds a queue's directory for this process, beside LevelDB's lock. That lock is a file: whoever removes it lets a
 * second process in, and POSIX drops it when any part of the process that has it closes the same file, as a refused
 * second instance does. What holds here is a socket that nobody needs to connect to, named after the directory itself
 * (device and inode): there is no file to remove, it works between instances of one process, and the system takes it
 * away with the process, however that ends. So nothing stale is ever left, whatever ids processes are given.
 *
 * It reaches as far as the network namespace. Between containers that share a directory LevelDB's lock remains. Where
 * the system has no such sockets (sandboxes), holding succeeds without effect.
 */
export interface DirectoryHold {
  release(): Promise<void>;
}

/** Makes the directory if need be. Rejects with a `StoreError` "locked" that names the process which holds it. */
export async function holdDirectory(directory: string): Promise<DirectoryHold> {
  await makePrivateDirectory(directory);
  const address = await addressOf(directory);
  const server = await listen(address);
  if (server !== "in use") return { release: () => closeServer(server) };
  const owner = await askOwner(address);
  if (owner !== "gone") throw heldError(directory, owner);
  await removeStale(address);
  const second = await listen(address);
  if (second === "in use") throw heldError(directory, await askOwner(address));
  return { release: () => closeServer(second) };
}

/**
 * Linux has names for sockets without a file, Windows has pipes. Elsewhere it is a file with a short path: a path to a
 * socket may have about a hundred bytes, and the directory's own may be longer. The name on Linux takes all the bytes
 * there are, since versions of Node differ in what they add to a shorter one.
 */
async function addressOf(directory: string): Promise<string> {
  const { dev, ino } = await stat(directory, { bigint: true });
  const name = `sluice-queue-${dev}-${ino}`;
  if (process.platform === "linux") return `\0${name}`.padEnd(ABSTRACT_ADDRESS_BYTES, "-");
  if (process.platform === "win32") return `\\\\.\\pipe\\${name}`;
  return join(tmpdir(), `sluice-${createHash("sha256").update(name).digest("hex").slice(0, 16)}.sock`);
}

const ABSTRACT_ADDRESS_BYTES = 108;

/**
 * The socket says to whoever connects which process it is of, and hangs up: one that does not read, or has been stopped, must
 * not keep the hold from its release. It keeps no process alive.
 */
function listen(address: string): Promise<Server | "in use" | undefined> {
  const since = new Date().toISOString();
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.unref().end(JSON.stringify({ pid: process.pid, since }), () => socket.destroy());
  });
  return new Promise((resolve) => {
    server.on("error", ({ code }: NodeJS.ErrnoException) => resolve(code === "EADDRINUSE" ? "in use" : undefined));
    // The workers of a cluster would share it otherwise.
    server.listen({ path: address, exclusive: true }, () => resolve(server.unref()));
  });
}

function closeServer(server: Server | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (server === undefined) resolve();
    else server.close(() => resolve());
  });
}

interface Owner {
  readonly pid: number;
  readonly since: string;
}

/** "gone" when nobody listens any more; undefined when somebody does who is too busy to say who it is. */
function askOwner(address: string): Promise<Owner | "gone" | undefined> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(address);
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy());
    socket.on("data", (bytes) => {
      text += bytes;
      if (text.length > MAX_ANSWER_LENGTH) socket.destroy();
    });
    socket.on("error", () => resolve("gone"));
    socket.on("close", () => resolve(parseOwner(text)));
  });
}

const ANSWER_TIMEOUT_MS = 2000;
const MAX_ANSWER_LENGTH = 200;

function parseOwner(text: string): Owner | undefined {
  try {
    const { pid, since } = JSON.parse(text) as Partial<Owner>;
    return typeof pid === "number" && typeof since === "string" ? { pid, since } : undefined;
  } catch {
    return undefined;
  }
}

/** Only a socket that is a file outlives its process. */
async function removeStale(address: string): Promise<void> {
  if (process.platform !== "linux" && process.platform !== "win32") await rm(address, { force: true });
}

function heldError(directory: string, owner: Owner | "gone" | undefined): StoreError {
  const advice = "stop that one, or give this one a directory of its own";
  return new StoreError("locked", `the queue directory ${directory} is in use by ${describe(owner)}: ${advice}`);
}

function describe(owner: Owner | "gone" | undefined): string {
  if (owner === undefined || owner === "gone") return "another process";
  const { pid, since } = owner;
  return pid === process.pid ? `another instance in this process, since ${since}` : `process ${pid}, since ${since}`;
}
