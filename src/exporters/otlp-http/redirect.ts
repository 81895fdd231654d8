import type { Http1Answer, HttpTarget } from "#net";

/** Go's limit too. */
const MAX_REDIRECTS = 10;

/** Where a request goes when a server redirects it, with all of its body. */
export interface Redirect {
  /** Without credentials. */
  readonly url: URL;
  /** Whether it is the configured host: only that one gets configured headers, credentials and the client's certificate. */
  readonly isOwnHost: boolean;
  /** How many redirects there have been, this one included. */
  readonly count: number;
}

/**
 * Where an answer with the status of a redirect leads; undefined if it does not say, and for redirects that are not
 * followed:
 *
 * - from https to http, because the data would be readable on its way;
 * - 301, 302 and 303 that do more than correct the URL. Browsers and Go ask with GET then, without the data: such an
 *   answer leads to a login, and a success there says nothing about the data;
 * - the eleventh.
 */
export function redirectOf(
  { status, headers }: Http1Answer,
  from: Pick<HttpTarget, "requestUrl">,
  endpoint: Pick<HttpTarget, "requestUrl">,
  last: Redirect | undefined,
): Redirect | undefined {
  const location = headers.get("location");
  const count = (last?.count ?? 0) + 1;
  if (location === undefined || count > MAX_REDIRECTS) return undefined;
  const url = parseUrl(location, from.requestUrl);
  if (url === undefined || (from.requestUrl.protocol === "https:" && url.protocol === "http:")) return undefined;
  const isOwnHost = (last?.isOwnHost ?? true) && isSameHost(url, endpoint.requestUrl);
  const keepsMethod = status === 307 || status === 308;
  if (!keepsMethod && !(isOwnHost && isSamePath(url, from.requestUrl))) return undefined;
  return { url, isOwnHost, count };
}

/** Whether an answer may ask for a redirect. Asked of every answer, so that the headers of others are not read. */
export function isRedirect(status: number): boolean {
  return status >= 301 && status <= 308 && STATUSES.has(status);
}

const STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function parseUrl(location: string, base: URL): URL | undefined {
  if (!URL.canParse(location, base.href)) return undefined;
  const url = new URL(location, base);
  url.username = url.password = url.hash = "";
  return url.protocol === "http:" || url.protocol === "https:" ? url : undefined;
}

/** Another port may be another service, unless it comes with the change from http to https. */
function isSameHost(url: URL, endpoint: URL): boolean {
  if (url.hostname !== endpoint.hostname) return false;
  return url.port === endpoint.port || (url.protocol === "https:" && endpoint.protocol === "http:");
}

function isSamePath(url: URL, from: URL): boolean {
  const path = ({ pathname, search }: URL) => pathname.replace(/\/$/, "") + search;
  return path(url) === path(from);
}
