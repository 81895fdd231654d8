import { OttlError } from "../../values/error.js";
import type { OttlMap } from "../../values/value.js";

// Linear: every text matches at once, each part up to the first character that cannot be in it.
const URL_PATTERN = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s;

/** The parts of an absolute or relative URL under the names of the semantic conventions. */
export function parseUrl(text: string): OttlMap {
  if (text === "") throw new OttlError("URL: the text is empty");
  if (text.startsWith("?")) return new Map([["query", parseQuery(text.slice(1))]]);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a URL cannot hold
  const match = /[\u0000-\u001f\u007f]/.test(text) ? null : URL_PATTERN.exec(text);
  if (match === null) throw new OttlError("URL: not a URL");
  if (match[1] === undefined && match[2] === undefined && /^[^/?#]*:/.test(text))
    throw new OttlError("URL: a colon without a scheme");
  const [, scheme = "", authority = "", rawPath = "", query = "", fragment = ""] = match;
  const at = authority.lastIndexOf("@");
  const { host, port } = hostAndPort(authority.slice(at + 1));
  const isOpaque = scheme !== "" && authority === "" && !rawPath.startsWith("/"); // as in mailto:somebody
  const path = isOpaque ? "" : decodePercent(rawPath);
  const map: OttlMap = new Map<string, string | bigint>([
    ["url.original", text],
    ["url.domain", host],
    ["url.scheme", scheme.toLowerCase()],
    ["url.path", path],
  ]);
  if (port !== "") map.set("url.port", BigInt(port));
  if (fragment !== "") map.set("url.fragment", decodePercent(fragment));
  if (at >= 0) addUser(map, authority.slice(0, at));
  if (query !== "") map.set("url.query", query);
  const extension = /\.([^.]+)$/s.exec(path)?.[1];
  if (extension !== undefined) map.set("url.extension", extension);
  return map;
}

/** The parameters of a query, each with the list of its values. */
function parseQuery(text: string): OttlMap {
  const parameters: OttlMap = new Map();
  for (const [name, value] of new URLSearchParams(text)) {
    const values = parameters.get(name);
    if (Array.isArray(values)) values.push(value);
    else parameters.set(name, [value]);
  }
  return parameters;
}

function hostAndPort(text: string): { host: string; port: string } {
  const match = /^(?:\[([^\]]*)\]|([^:\s]*))(?::(\d{0,5}))?$/.exec(text);
  if (match === null) throw new OttlError("URL: not a valid host and port");
  const [, address, name = "", port = ""] = match;
  return { host: address === undefined ? decodeHost(name) : decodeAddress(address), port };
}

/**
 * Only characters beyond ASCII are escaped in a host; the zone after the %25 of an IPv6 address may have any escape.
 */
function decodeHost(text: string): string {
  if (/%(?![89a-f][0-9a-f])/i.test(text)) throw new OttlError("URL: an invalid percent escape in a host");
  return decodePercent(text);
}

function decodeAddress(text: string): string {
  const zone = text.indexOf("%25");
  return zone < 0 ? decodeHost(text) : decodeHost(text.slice(0, zone)) + decodePercent(text.slice(zone));
}

function addUser(map: OttlMap, user: string): void {
  const colon = user.indexOf(":");
  const name = colon < 0 ? user : user.slice(0, colon);
  map.set("url.user_info", user);
  if (name !== "") map.set("url.username", decodePercent(name));
  if (colon >= 0) map.set("url.password", decodePercent(user.slice(colon + 1)));
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new OttlError("URL: an invalid percent escape");
  }
}
