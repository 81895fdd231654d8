import { Value } from "./api/value.js";

/** A location in the console, from the part of the address behind `#`: `#/failures/ID?exporter=a`. */
export interface Route {
  readonly page: string;
  readonly rest: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

export const route = new Value<Route>(parseRoute(location.hash));
let shown = location.hash;
addEventListener("hashchange", showAddress);

function showAddress(): void {
  if (location.hash === shown) return;
  shown = location.hash;
  route.set(parseRoute(shown));
}

export function parseRoute(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [page, ...rest] = path.split("/").map(decode);
  return { page: page || "overview", rest, query: Object.fromEntries(new URLSearchParams(search)) };
}

/** The address of a location; parameters without a value are left out. */
export function linkTo(
  page: string,
  rest: readonly string[] = [],
  query: Readonly<Record<string, string | undefined>> = {},
) {
  const given = Object.entries(query).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== "",
  );
  const search = new URLSearchParams(given).toString();
  return `#/${[page, ...rest].map(encodeURIComponent).join("/")}${search === "" ? "" : `?${search}`}`;
}

/** The route changes at once. The browser reports `hashchange` later, when the user may have made another input. */
export function goTo(...place: Parameters<typeof linkTo>): void {
  location.hash = linkTo(...place);
  showAddress();
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
