import { isIPv4, isIPv6 } from "node:net";
import { OttlError } from "../../values/error.js";

/** The 4 or 16 bytes of an address; an IPv4 address written in IPv6 has 4. Returns undefined for an invalid address. */
export function ipBytes(text: string): Buffer | undefined {
  const bytes = writtenBytes(text);
  return bytes !== undefined && isMapped(bytes) ? bytes.subarray(12) : bytes;
}

function isMapped(bytes: Buffer): boolean {
  if (bytes.length !== 16) return false;
  return bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
}

/** The bytes as written: an IPv6 address always has 16. */
function writtenBytes(text: string): Buffer | undefined {
  if (isIPv4(text)) return Buffer.from(text.split(".").map(Number));
  if (!isIPv6(text) || text.includes("%")) return undefined;
  // At most 45 characters, because it is an IPv6 address.
  const tail = /\d+\.\d+\.\d+\.\d+$/.exec(text)?.[0];
  const hex = tail === undefined ? text : `${text.slice(0, -tail.length)}${wordsOf(tail)}`;
  const [before, after] = hex.split("::") as [string, string?];
  const groups = (part: string | undefined) => (part ? part.split(":") : []);
  const head = groups(before);
  const end = groups(after);
  const zeros = after === undefined ? [] : new Array<string>(8 - head.length - end.length).fill("0");
  return Buffer.from([...head, ...zeros, ...end].map((group) => group.padStart(4, "0")).join(""), "hex");
}

function wordsOf(ipv4: string): string {
  const [a, b, c, d] = ipv4.split(".").map(Number) as [number, number, number, number];
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

export type Network = (address: Buffer) => boolean;

/** Parses a network such as 10.0.0.0/8. Throws if it is invalid. */
export function parseNetwork(text: string): Network {
  const [address, size] = text.split("/") as [string, string?];
  const bytes = writtenBytes(address);
  if (bytes === undefined || size === undefined || !/^\d{1,3}$/.test(size) || Number(size) > bytes.length * 8)
    throw new OttlError(`${JSON.stringify(text.slice(0, 60))} is not a network such as 10.0.0.0/8`);
  const isIPv4InIPv6 = isMapped(bytes) && Number(size) >= 96;
  const network = isIPv4InIPv6 ? bytes.subarray(12) : bytes;
  const bits = Number(size) - (isIPv4InIPv6 ? 96 : 0);
  return (other) => other.length === network.length && sameBits(other, network, bits);
}

function sameBits(a: Buffer, b: Buffer, bits: number): boolean {
  const whole = bits >> 3;
  for (let i = 0; i < whole; i++) if (a[i] !== b[i]) return false;
  const rest = bits & 7;
  return rest === 0 || a[whole]! >> (8 - rest) === b[whole]! >> (8 - rest);
}
