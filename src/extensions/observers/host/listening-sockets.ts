import { readdir, readFile, readlink } from "node:fs/promises";
import type { ObservedEndpoint } from "#contract/services";

/** A socket that waits for connections or packets, as /proc/net shows it. */
interface ListeningSocket {
  readonly transport: "TCP" | "UDP";
  readonly isIPv6: boolean;
  readonly address: string;
  readonly port: number;
  readonly inode: string;
}

const TABLES = [
  { file: "tcp", transport: "TCP", isIPv6: false },
  { file: "tcp6", transport: "TCP", isIPv6: true },
  { file: "udp", transport: "UDP", isIPv6: false },
  { file: "udp6", transport: "UDP", isIPv6: true },
] as const;
const LISTEN = "0A";

/** Reads the sockets of a machine and the processes behind them. A process that cannot be examined has no name. */
export async function listeningEndpoints(root: string, observer: string): Promise<ObservedEndpoint[]> {
  const proc = `${root}/proc`;
  const network = `${proc}/${root === "" ? "self" : "1"}/net`;
  const tables = await Promise.all(
    TABLES.map(async ({ file, ...kind }) => {
      const text = await readFile(`${network}/${file}`, "latin1").catch((error: NodeJS.ErrnoException) => {
        if (file === "tcp") throw error;
        return ""; // a machine without IPv6 lacks its tables
      });
      return socketsIn(text, kind);
    }),
  );
  const sockets = tables.flat();
  const owners = await ownersOf(new Set(sockets.map(({ inode }) => inode)), proc);
  const endpoints = new Map<string, ObservedEndpoint>();
  for (const socket of sockets) {
    for (const owner of owners.get(socket.inode) ?? [undefined]) {
      const endpoint = endpointOf(socket, owner, observer);
      endpoints.set(endpoint.id, endpoint);
    }
  }
  return [...endpoints.values()];
}

function socketsIn(text: string, kind: Pick<ListeningSocket, "transport" | "isIPv6">): ListeningSocket[] {
  return text.split("\n").flatMap((line) => {
    const [, local = "", remote = "", state, , , , , , inode = ""] = line.trim().split(/\s+/);
    const [address = "", port = ""] = local.split(":");
    const isListening = kind.transport === "TCP" ? state === LISTEN : remote.endsWith(":0000");
    if (!isListening || !/^[0-9A-F]{4}$/.test(port)) return [];
    const read = kind.isIPv6 ? addressV6(address) : addressV4(address);
    return [{ ...kind, address: read, port: Number.parseInt(port, 16), inode }];
  });
}

/** The kernel writes the bytes of each 32-bit word in the order of this machine. */
function bytesOf(hex: string): number[] {
  const words = hex.match(/.{8}/g) ?? [];
  return words.flatMap((word) => (word.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16)).reverse());
}

function addressV4(hex: string): string {
  return bytesOf(hex).join(".");
}

/** With the longest run of zeros left out. */
function addressV6(hex: string): string {
  const bytes = bytesOf(hex);
  const groups = Array.from({ length: 8 }, (_, i) => ((bytes[2 * i]! << 8) | bytes[2 * i + 1]!).toString(16));
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}

interface SocketOwner {
  readonly pid: string;
  readonly name: string;
  readonly command: string;
}

/** The processes that have these sockets open, by inode. */
async function ownersOf(inodes: ReadonlySet<string>, proc: string): Promise<Map<string, SocketOwner[]>> {
  const owners = new Map<string, SocketOwner[]>();
  for (const pid of (await readdir(proc)).filter((name) => /^\d+$/.test(name))) {
    const held = await socketsOf(`${proc}/${pid}/fd`, inodes);
    if (held.size === 0) continue;
    const owner = await processOf(pid, proc);
    if (owner !== undefined) for (const inode of held) owners.set(inode, [...(owners.get(inode) ?? []), owner]);
  }
  return owners;
}

async function socketsOf(folder: string, inodes: ReadonlySet<string>): Promise<Set<string>> {
  const held = new Set<string>();
  for (const file of await readdir(folder).catch(() => [])) {
    const target = await readlink(`${folder}/${file}`).catch(() => "");
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
    if (inode !== undefined && inodes.has(inode)) held.add(inode);
  }
  return held;
}

/** Undefined for a process that has ended. */
async function processOf(pid: string, proc: string): Promise<SocketOwner | undefined> {
  try {
    const [name, command] = await Promise.all([
      readFile(`${proc}/${pid}/comm`, "utf8"),
      readFile(`${proc}/${pid}/cmdline`, "utf8"),
    ]);
    return { pid, name: name.trim(), command: command.replaceAll("\0", " ").trim() };
  } catch {
    return undefined;
  }
}

function endpointOf(socket: ListeningSocket, owner: SocketOwner | undefined, observer: string): ObservedEndpoint {
  const { address, port, transport, isIPv6 } = socket;
  const reachable = address === "0.0.0.0" ? "127.0.0.1" : address;
  const host = isIPv6 ? `[${reachable}]` : reachable;
  return {
    id: `(${observer})${host}-${port}-${transport}${owner === undefined ? "" : `-${owner.pid}`}`,
    type: "hostport",
    target: `${host}:${port}`,
    variables: {
      process_name: owner?.name ?? "",
      command: owner?.command ?? "",
      is_ipv6: isIPv6,
      port: BigInt(port),
      transport,
      os: process.platform,
    },
  };
}
