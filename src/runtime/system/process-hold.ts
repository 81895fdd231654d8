import { createHash } from "node:crypto";
import { readdir, readFile, readlink, rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Something that one process, or one instance in a process, holds. The hold is a socket with a name. There is no file to
 * remove, it works between instances in one process, and the system removes it when the process ends in any way. So
 * nothing stale is left, even if process ids are reused.
 *
 * The hold is valid within a network namespace: containers that share a directory do not see each other's holds. Where
 * the system has no such sockets (sandboxes), holding succeeds without effect.
 */
export interface ProcessHold {
  release(): Promise<void>;
}

/** Who holds a name. Undefined if that is unknown. A process that is stopped or too busy does not say since when. */
export type HoldOwner = { readonly pid: number; readonly since?: string } | undefined;

/** Names consist of letters, digits and hyphens. Returns `heldBy` if the name is held already. Never rejects. */
export async function holdName(name: string): Promise<ProcessHold | { readonly heldBy: HoldOwner }> {
  const address = addressOf(name);
  const server = await listen(address);
  if (server !== "in use") return { release: () => closeServer(server) };
  const owner = await askOwner(address);
  if (owner !== "gone") return { heldBy: owner };
  await removeStale(address);
  const second = await listen(address);
  if (second !== "in use") return { release: () => closeServer(second) };
  const other = await askOwner(address);
  return { heldBy: other === "gone" ? undefined : other };
}

/**
 * Linux has socket names without a file, and Windows has pipes. Other systems use a file with a short path, because a
 * socket's path is limited to about a hundred bytes. The name on Linux is padded to the full length, because versions of
 * Node pad shorter ones differently.
 */
function addressOf(name: string): string {
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

/** Returns "gone" if the owner does not listen any more. */
function askOwner(address: string): Promise<HoldOwner | "gone"> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(address);
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy());
    socket.on("data", (bytes) => {
      text += bytes;
      if (text.length > MAX_ANSWER_LENGTH) socket.destroy();
    });
    socket.on("error", () => resolve("gone"));
    socket.on("close", () => resolve(parseOwner(text) ?? findOwner(address)));
  });
}

const ANSWER_TIMEOUT_MS = 2000;
const MAX_ANSWER_LENGTH = 200;

function parseOwner(text: string): HoldOwner {
  try {
    const { pid, since } = JSON.parse(text) as Partial<NonNullable<HoldOwner>>;
    return typeof pid === "number" && typeof since === "string" ? { pid, since } : undefined;
  } catch {
    return undefined;
  }
}

/** Finds the owner of a Linux socket in /proc, among the processes of this user, for owners that do not answer. */
async function findOwner(address: string): Promise<HoldOwner> {
  if (process.platform !== "linux") return undefined;
  const sockets = await readFile("/proc/net/unix", "utf8").catch(() => "");
  const listening = sockets.split("\n").find((line) => line.endsWith(` @${address.slice(1)}`) && LISTENING.test(line));
  const inode = listening?.trim().split(/\s+/).at(-2);
  if (inode === undefined) return undefined;
  for (const pid of await readdir("/proc").catch(() => []))
    if (/^\d+$/.test(pid) && (await hasSocket(pid, inode))) return { pid: Number(pid) };
  return undefined;
}

/** The flag of a listening socket, in the fourth column. */
const LISTENING = /^\S+ \S+ \S+ 00010000 /;

async function hasSocket(pid: string, inode: string): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  const files = await readdir(folder).catch(() => []);
  const links = await Promise.all(files.map((file) => readlink(join(folder, file)).catch(() => "")));
  return links.includes(`socket:[${inode}]`);
}

/** Only a socket that is a file outlives its process. */
async function removeStale(address: string): Promise<void> {
  if (process.platform !== "linux" && process.platform !== "win32") await rm(address, { force: true });
}
