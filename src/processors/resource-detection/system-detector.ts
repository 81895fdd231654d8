import { lookup, lookupService, resolveCname, reverse } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { arch, hostname, machine, networkInterfaces, platform, release, type, version } from "node:os";
import { type DetectedAttributes, type DetectionContext, type Detector, withTimeout } from "./detector.js";

/** Detects the machine that the agent runs on. */
export const detectSystem: Detector = async (context): Promise<DetectedAttributes> => {
  const [name, osRelease, debianVersion, machineId, cpu, interfaces] = await Promise.all([
    hostNameOf(context),
    readPairs("/etc/os-release", "="),
    readFirst(["/etc/debian_version"]),
    readFirst(["/etc/machine-id", "/var/lib/dbus/machine-id"]),
    readPairs("/proc/cpuinfo", ":"),
    interfaceNames(),
  ]);
  if (name === undefined) throw new Error("none of hostname_sources gave a name");
  return {
    "host.name": name,
    "host.id": machineId,
    "host.arch": ARCHITECTURES[arch()] ?? arch(),
    "host.interface": interfaces,
    ...networkAttributes(),
    ...cpuAttributes(cpu),
    "os.type": OS_TYPES[platform()] ?? platform(),
    "os.name": osRelease.get("ID"),
    "os.version": (osRelease.get("ID") === "debian" ? debianVersion : undefined) ?? versionOf(osRelease),
    "os.build.id": osRelease.get("BUILD_ID") ?? release(),
    "os.description": descriptionOf(osRelease),
  };
};

function versionOf(osRelease: ReadonlyMap<string, string>): string | undefined {
  return osRelease.get("VERSION_ID") ?? (platform() === "linux" ? undefined : release());
}

/** Puts the name of the distribution in front of the kernel's. */
function descriptionOf(osRelease: ReadonlyMap<string, string>): string {
  const kernel = `${type()} ${hostname()} ${release()} ${version()} ${machine()}`;
  const distribution = osRelease.get("PRETTY_NAME");
  return distribution === undefined ? kernel : `${distribution} (${kernel})`;
}

const OS_TYPES: Readonly<Record<string, string>> = { win32: "windows", sunos: "solaris" };
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", ia32: "x86", arm: "arm32" };

/** Tries the configured sources in turn. A silent name server must leave time for the next source. */
async function hostNameOf(context: DetectionContext): Promise<string | undefined> {
  const sources = context.config.system.hostname_sources;
  for (const source of sources) {
    const asked = HOST_NAMES[source]().catch(() => undefined);
    const name = await withTimeout(context.timeoutMs / (sources.length + 1), asked, context);
    if (name !== undefined && name !== "") return name.replace(/\.$/, "");
  }
  return undefined;
}

const HOST_NAMES: Readonly<Record<"dns" | "os" | "cname" | "lookup", () => Promise<string | undefined>>> = {
  os: async () => hostname(),
  /** Resolves the machine's own address to a name, which is fully qualified if the machine has such a name. */
  async dns() {
    const { address } = await lookup(hostname());
    const { hostname: name } = await lookupService(address, 0);
    return isIP(name) !== 0 || /^(localhost|ip6-)/.test(name) ? undefined : name;
  },
  cname: async () => (await resolveCname(hostname()))[0],
  lookup: async () => (await reverse((await lookup(hostname())).address))[0],
};

/** Returns all interfaces. Node.js knows only those that are up and have an address. */
async function interfaceNames(): Promise<string[]> {
  const lines = (await readFile("/proc/net/dev", "utf8").catch(() => "")).split("\n");
  const names = lines.flatMap((line) => /^\s*([^\s:]+):/.exec(line)?.[1] ?? []);
  return names.length > 0 ? names : Object.keys(networkInterfaces());
}

/** The addresses of all interfaces but the loopback one. */
function networkAttributes(): DetectedAttributes {
  const interfaces = Object.values(networkInterfaces()).map((all = []) => all.filter(({ internal }) => !internal));
  const macs = interfaces.flatMap((addresses) => addresses.slice(0, 1).map(({ mac }) => mac));
  return {
    "host.ip": interfaces.flat().map(({ address }) => address),
    "host.mac": macs.map((mac) => mac.toUpperCase().replaceAll(":", "-")),
  };
}

function cpuAttributes(cpu: ReadonlyMap<string, string>): DetectedAttributes {
  const cacheSize = Number.parseInt(cpu.get("cache size") ?? "", 10);
  return {
    "host.cpu.vendor.id": cpu.get("vendor_id"),
    "host.cpu.family": cpu.get("cpu family"),
    "host.cpu.model.id": cpu.get("model"),
    "host.cpu.model.name": cpu.get("model name"),
    "host.cpu.stepping": cpu.get("stepping"),
    "host.cpu.cache.l2.size": Number.isNaN(cacheSize) ? undefined : cacheSize,
  };
}

/** Returns the first value of each name; an empty map if there is no such file. */
async function readPairs(path: string, separator: string): Promise<ReadonlyMap<string, string>> {
  const pairs = new Map<string, string>();
  for (const line of (await readFile(path, "utf8").catch(() => "")).split("\n")) {
    const at = line.indexOf(separator);
    const name = line.slice(0, Math.max(at, 0)).trim();
    const value = line
      .slice(at + 1)
      .trim()
      .replace(/^(["'])(.*)\1$/, "$2");
    if (name !== "" && value !== "" && !pairs.has(name)) pairs.set(name, value);
  }
  return pairs;
}

async function readFirst(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const text = (await readFile(path, "utf8").catch(() => "")).trim();
    if (text !== "") return text;
  }
  return undefined;
}
