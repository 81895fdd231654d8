import process from "node:process";

/**
 * The first release of each line that has all fixes of holes by which a client harms an HTTP/2 server, as the database of Node.js's
 * security working group has them. Lines that are not here, and not newer than these, get no fixes any more.
 */
const FIXED: Readonly<Record<number, readonly [minor: number, patch: number]>> = {
  22: [23, 2],
  24: [18, 1],
  26: [5, 1],
};
const NEWEST_LINE = 26;

/** What to say to whoever lets others speak HTTP/2 to this Node.js; undefined if it has no known holes. */
export function http2Warning(version: string = process.versions.node): string | undefined {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  if (major > NEWEST_LINE) return undefined;
  const fixed = FIXED[major];
  if (fixed !== undefined && (minor > fixed[0] || (minor === fixed[0] && patch >= fixed[1]))) return undefined;
  const releases = Object.entries(FIXED).map(([line, rest]) => [line, ...rest].join("."));
  return `Node.js ${version} has known holes in its HTTP/2, by which clients of a public port can harm it; use ${releases.join(", ")} or newer`;
}
