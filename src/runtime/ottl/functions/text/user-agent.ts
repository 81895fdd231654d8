import type { OttlMap } from "../../values/value.js";

/** Browsers and clients by typical parts of their header; the first match counts. */
// At most 2,048 characters.
const AGENTS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ["Googlebot", /Googlebot\/([\d.]+)/],
  ["bingbot", /bingbot\/([\d.]+)/],
  ["Edge", /Edg(?:e|A|iOS)?\/([\d.]+)/],
  ["Opera", /Opera\/9\.80.* Version\/([\d.]+)/],
  ["Opera", /(?:OPR|Opera)\/([\d.]+)/],
  ["Samsung Internet", /SamsungBrowser\/([\d.]+)/],
  ["Firefox iOS", /FxiOS\/([\d.]+)/],
  ["Chrome Mobile iOS", /CriOS\/([\d.]+)/],
  ["Firefox Mobile", /Mobile;.*Firefox\/([\d.]+)/],
  ["Firefox", /Firefox\/([\d.]+)/],
  ["HeadlessChrome", /HeadlessChrome\/([\d.]+)/],
  ["Chrome Mobile", /Chrome\/([\d.]+) Mobile/],
  ["Chrome", /Chrome\/([\d.]+)/],
  ["Mobile Safari", /Version\/([\d.]+) Mobile\S* Safari/],
  ["Safari", /Version\/([\d.]+).* Safari/],
  ["Python Requests", /python-requests\/(\d+\.\d+)/],
  ["IE", /(?:MSIE |Trident\/.*rv:)([\d.]+)/],
];

// At most 2,048 characters.
const SYSTEMS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ["iOS", /(?:iPhone|iPad|iPod).* OS ([\d_]+)/],
  ["iOS", /\biOS ([\d.]+)/],
  ["Android", /Android ?([\d.]*)/],
  ["Windows", /Windows NT ([\d.]+)/],
  ["Mac OS X", /Mac OS X ([\d_.]+)/],
  ["Chrome OS", /CrOS \S+ ([\d.]+)/],
  ["Tizen", /Tizen[ /]([\d.]+)/],
  ["Linux", /Linux(?:\/(\d+\.\d+\.\d+))?/i],
];

const WINDOWS: Readonly<Record<string, string>> = {
  "10.0": "10",
  "6.3": "8.1",
  "6.2": "8",
  "6.1": "7",
  "6.0": "Vista",
  "5.1": "XP",
};
const MAX_HEADER_LENGTH = 2048;

/** The name and version of the sender of a User-Agent header; "Other" without a version if unknown. */
export function parseUserAgent(header: string): OttlMap {
  const text = header.slice(0, MAX_HEADER_LENGTH);
  const map: OttlMap = new Map([["user_agent.original", header]]);
  const [name, version] = firstMatch(AGENTS, text) ?? product(text) ?? ["Other", ""];
  map.set("user_agent.name", name).set("user_agent.version", threeParts(version));
  const system = firstMatch(SYSTEMS, text) ?? ["Other", ""];
  map.set("os.name", system[0]);
  const number = system[0] === "Windows" ? (WINDOWS[system[1]] ?? system[1]) : system[1].replaceAll("_", ".");
  if (number !== "") map.set("os.version", number);
  return map;
}

/** Major, minor and patch; a build number is dropped. */
function threeParts(version: string): string {
  return version.split(".", 3).join(".");
}

function firstMatch(table: typeof AGENTS, text: string): [name: string, version: string] | undefined {
  for (const [name, pattern] of table) {
    const match = pattern.exec(text);
    if (match !== null) return [name, match[1] ?? ""];
  }
  return undefined;
}

/** A client that names itself first, such as curl/7.81.0. */
function product(text: string): [name: string, version: string] | undefined {
  const match = /^([A-Za-z][\w.-]*)\/v?([\d.]+)/.exec(text);
  return match === null || match[1] === "Mozilla" ? undefined : [match[1]!, match[2]!];
}
