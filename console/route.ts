import { Value } from "./api/value.js";

/** A location in the console, from the part of the address behind `#`: `#/failures/ID?exporter=a`. */
export interface Route {
  readonly page: string;
  readonly rest: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

export const route = new Value<Route>(parseRoute(location.hash));
addEventListener("hashchange", () => route.set(parseRoute(location.hash)));

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

export function goTo(...place: Parameters<typeof linkTo>): void {
  location.hash = linkTo(...place);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
