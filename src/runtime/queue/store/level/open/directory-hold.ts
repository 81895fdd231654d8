import { createHash } from "node:crypto";
import { rm, stat } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makePrivateDirectory } from "#system";
import { StoreError } from "../../store.js";

/**
 * Holds a queue's directory for this process, in addition to LevelDB's lock. LevelDB's lock is a file: removing the
 * file lets a second process in, and POSIX drops the lock when any part of the process closes the same file, as a
 * refused second instance does. The hold is a socket named after the directory itself (device and inode). There is no
 * file to remove, it works between instances in one process, and the system removes it when the process ends in any
 * way. So nothing stale is left, even if process ids are reused.
 *
 * The hold is valid within a network namespace. Between containers that share a directory, only LevelDB's lock works.
 * Where the system has no such sockets (sandboxes), holding succeeds without effect.
 */
export interface DirectoryHold {
  release(): Promise<void>;
}

/** Creates the directory if necessary. Rejects with a `StoreError` "locked" that names the process holding it. */
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
 * Linux has socket names without a file, and Windows has pipes. Other systems use a file with a short path, because a
 * socket's path is limited to about a hundred bytes and the directory's own may be longer. The name on Linux is padded
 * to the full length, because versions of Node pad shorter ones differently.
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
 * The socket sends the id of its process to every client and closes the connection. A client that does not read, or is
 * stopped, must not keep the hold from being released. The socket does not keep the process alive.
 */
function listen(address: string): Promise<Server | "in use" | undefined> {
  const since = new Date().toISOString();
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.unref().end(JSON.stringify({ pid: process.pid, since }), () => socket.destroy());
  });
  return new Promise((resolve) => {
    server.on("error", ({ code }: NodeJS.ErrnoException) => resolve(code === "EADDRINUSE" ? "in use" : undefined));
    // Otherwise the workers of a cluster would share the socket.
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

/** Returns "gone" if the owner does not listen any more; undefined if it is too busy to answer. */
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
