import { createSocket } from "node:dgram";
import type { AddressInfo } from "node:net";

/** A DNS server on loopback that knows the names that a test gives it. */
export interface DnsServer {
  /** As a DNS server is named in a config. */
  readonly address: string;
  /** IPv4 addresses by name. A name that is not there does not exist. */
  readonly names: Map<string, readonly string[]>;
  /** Its misbehaviour in place of an answer. */
  fault: "none" | "silent" | "servfail";
  close(): Promise<void>;
}

const A = 1;
const NXDOMAIN = 3;
const SERVFAIL = 2;

export async function startDnsServer(): Promise<DnsServer> {
  const socket = createSocket("udp4");
  const names: DnsServer["names"] = new Map();
  socket.on("message", (query, { address, port }) => {
    if (server.fault !== "silent") socket.send(answerTo(query), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));

  function answerTo(query: Buffer): Buffer {
    const { name, type, end } = readQuestion(query);
    const known = names.get(name);
    const code = server.fault === "servfail" ? SERVFAIL : known === undefined ? NXDOMAIN : 0;
    const addresses = code === 0 && type === A ? known! : [];
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | code, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(addresses.length, 6);
    return Buffer.concat([head, query.subarray(12, end), ...addresses.map(record)]);
  }

  const server: DnsServer = {
    address: `127.0.0.1:${(socket.address() as AddressInfo).port}`,
    names,
    fault: "none",
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
  return server;
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let size = query[at++]!; size > 0; size = query[at++]!) {
    labels.push(query.toString("latin1", at, at + size));
    at += size;
  }
  return { name: labels.join("."), type: query.readUInt16BE(at), end: at + 4 };
}

/** An answer for the name of the question, which is at byte 12. */
function record(address: string): Buffer {
  const head = Buffer.from([0xc0, 12, 0, A, 0, 1, 0, 0, 0, 0, 0, 4]);
  return Buffer.concat([head, Buffer.from(address.split(".").map(Number))]);
}
