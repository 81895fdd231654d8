import { type LogMap, type LogValue, newLogMap, ownValue, setValue } from "./entries/log-value.js";
import { ParserOperator } from "./parse-operators.js";

/**
 * Parses an absolute URI, or a path with its query, into `scheme`, `user`, `host`, `port`, `path` and `query`. Parts
 * that are not there are left out. Passwords are never kept.
 */
export class UriParser extends ParserOperator {
  protected parse(value: LogValue): LogMap {
    if (typeof value !== "string") throw new Error("uri_parser needs a text");
    return value.startsWith("?") ? queryOnly(value.slice(1)) : parseUri(value);
  }
}

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a URI cannot have these
const CONTROL = /[\u0000-\u001f\u007f]/;

function queryOnly(text: string): LogMap {
  const { parameters, isValid } = parseQuery(text);
  if (!isValid) throw notUri();
  return withQuery(newLogMap(), parameters);
}

/** As Go's `url.ParseRequestURI`: a text that is neither a path nor has a scheme is no URI, and `#` has no meaning. */
function parseUri(text: string): LogMap {
  if (text === "" || CONTROL.test(text)) throw notUri();
  const parts = newLogMap();
  if (text === "*") return Object.assign(parts, { path: "*" });
  const scheme = SCHEME.exec(text)?.[1];
  if (scheme !== undefined) parts.scheme = scheme.toLowerCase();
  const [rest, query] = cut(scheme === undefined ? text : text.slice(scheme.length + 1), "?");
  if (rest.startsWith("/")) readPlace(parts, rest, scheme !== undefined);
  else if (scheme === undefined) throw notUri();
  return withQuery(parts, parseQuery(query).parameters);
}

/** Reads user, host and port, which only a URI with a scheme has, and the path. */
function readPlace(parts: LogMap, rest: string, hasScheme: boolean): void {
  let path = rest;
  if (hasScheme && rest.startsWith("//")) {
    const slash = rest.indexOf("/", 2);
    readAuthority(parts, slash < 0 ? rest.slice(2) : rest.slice(2, slash));
    path = slash < 0 ? "" : rest.slice(slash);
  }
  if (path !== "") parts.path = escapedPath(path);
}

function readAuthority(parts: LogMap, authority: string): void {
  const at = authority.lastIndexOf("@");
  if (at >= 0) {
    const user = decode(cut(authority.slice(0, at), ":")[0]);
    if (user !== "") parts.user = user;
  }
  const found = /^(?:\[([^\]]*)\]|([^:\s<>"]*))(?::(\d*))?$/.exec(authority.slice(at + 1));
  if (found === null) throw notUri();
  const host = decode(found[1] ?? found[2] ?? "");
  if (host !== "") parts.host = host;
  if (found[3]) parts.port = found[3];
}

/** The path as it was written if it is escaped correctly, else escaped. */
function escapedPath(path: string): string {
  const decoded = decode(path);
  if (/^[\w.~!$&'()*+,;=:@[\]/%-]*$/.test(path)) return path;
  return decoded.replace(/[^\w.~$&+,/:;=@-]/gu, (char) =>
    [...Buffer.from(char)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
}

/** Each parameter with the list of its values. Pairs that cannot be read are left out. */
function parseQuery(text: string): { readonly parameters: LogMap; readonly isValid: boolean } {
  const parameters = newLogMap();
  let isValid = true;
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    try {
      if (pair.includes(";")) throw notUri();
      const [name, value] = cut(pair, "=").map((part) => decode(part.replaceAll("+", " "))) as [string, string];
      const values = ownValue(parameters, name);
      if (Array.isArray(values)) values.push(value);
      else setValue(parameters, name, [value]);
    } catch {
      isValid = false;
    }
  }
  return { parameters, isValid };
}

function withQuery(parts: LogMap, parameters: LogMap): LogMap {
  if (Object.keys(parameters).length > 0) parts.query = parameters;
  return parts;
}

function cut(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + separator.length)];
}

function decode(text: string): string {
  if (/%(?![0-9a-fA-F]{2})/.test(text)) throw notUri();
  return text.includes("%") ? decodeBytes(text) : text;
}

/** Escaped bytes need not be valid UTF-8. */
function decodeBytes(text: string): string {
  const parts = text
    .split(/(%[0-9a-fA-F]{2})/)
    .map((part) => (/^%[0-9a-fA-F]{2}$/.test(part) ? Buffer.from(part.slice(1), "hex") : Buffer.from(part)));
  return Buffer.concat(parts).toString("utf8");
}

function notUri(): Error {
  return new Error("the text is not a URI");
}
