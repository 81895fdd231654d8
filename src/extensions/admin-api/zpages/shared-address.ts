import type { HostPort, SimpleHttpResponse } from "#net";
import type { Host } from "../../../plugin.js";

/** Returns undefined for a path that is no page. */
type PageAnswer = (path: string) => SimpleHttpResponse | undefined;

interface SharedAddress {
  admin?: HostPort;
  pages?: PageAnswer;
}

/**
 * The pages of zpages and the admin API have the same port by default. Where both run, the admin API serves the pages,
 * to clients on this machine only. By agent.
 */
const SHARED = new WeakMap<Host, SharedAddress>();

function sharedAddress(host: Host): SharedAddress {
  const known = SHARED.get(host) ?? {};
  SHARED.set(host, known);
  return known;
}

/** Remembers where the admin API of this agent listens. */
export function claimAddress(host: Host, address: HostPort): void {
  sharedAddress(host).admin = address;
}

export function adminAddress(host: Host): HostPort | undefined {
  return sharedAddress(host).admin;
}

/** Lets the admin API serve pages; undefined ends it. */
export function sharePages(host: Host, pages: PageAnswer | undefined): void {
  const shared = sharedAddress(host);
  if (pages === undefined) delete shared.pages;
  else shared.pages = pages;
}

export function sharedPages(host: Host): PageAnswer | undefined {
  return SHARED.get(host)?.pages;
}
