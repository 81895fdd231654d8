import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { HttpError } from "./http-error.js";

/**
 * Any page in a browser on this machine can make it send requests here. Therefore a name that foreign DNS points at
 * this machine is rejected by its Host header, a page of another site by its Origin or Sec-Fetch-Site, and requests
 * that change something must have a content type that browsers do not send to other sites without a preflight. No CORS
 * header is ever sent.
 */
export function rejectForeignHost(request: IncomingMessage, allowedHosts: ReadonlySet<string>): void {
  const host = request.headers.host ?? "";
  if (isAllowedHost(host, allowedHosts)) return;
  const name = JSON.stringify(hostName(host));
  throw new HttpError("forbidden", `the host name ${name} is not allowed; see allowed_hosts of the extension admin`);
}

export function rejectForeignPage(request: IncomingMessage): void {
  const host = request.headers.host ?? "";
  const { origin, "sec-fetch-site": site } = request.headers;
  const isForeign =
    (origin !== undefined && !isOriginOf(origin, host)) || site === "cross-site" || site === "same-site";
  if (isForeign) throw new HttpError("forbidden", "requests from pages of other sites are refused");
}

/**
 * Whether a user followed a link, for example from an alert to the console. A page of another site cannot see or do
 * anything that way.
 */
export function isVisit({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
}

/** `types` are media types without parameters. */
export function requireContentType(request: IncomingMessage, ...types: readonly string[]): void {
  const written = (request.headers["content-type"] ?? "").split(";", 1)[0]!.trim().toLowerCase();
  if (types.includes(written)) return;
  throw new HttpError("unsupported_media_type", `the content type must be ${types.join(" or ")}`);
}

function isAllowedHost(host: string, allowed: ReadonlySet<string>): boolean {
  const name = hostName(host);
  return name === "localhost" || isIP(name) !== 0 || allowed.has(name);
}

/** `[::1]:80` gives `::1`. */
function hostName(host: string): string {
  const match = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(host.trim().toLowerCase());
  return match?.[1] ?? match?.[2] ?? "";
}

function isOriginOf(origin: string, host: string): boolean {
  return URL.canParse(origin) && new URL(origin).host === host.trim().toLowerCase();
}
