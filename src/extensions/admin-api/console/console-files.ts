import type { IncomingMessage } from "node:http";
import { HttpError } from "../http-error.js";
import { readBuiltFile } from "./built-file.js";

/** A file of the console with its response headers. */
export interface ConsoleFile {
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: Buffer;
}

/** An entry of the build's manifest: the URL path of a file, and whether its name changes with its content. */
interface BuiltFile {
  readonly path: string;
  readonly file: string;
  readonly type: string;
  readonly immutable: boolean;
}

/**
 * A page that shows data of strangers must not run or load any of it: no inline script or style, nothing from another
 * host, no text that becomes markup (Trusted Types), no frame around it.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const HEADERS = {
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** Pages that links on other sites lead to: the console, and the runbook, which alerts link to. */
const PAGES: readonly string[] = ["/", "/docs/runbook.md"];

export function isConsolePage(path: string): boolean {
  return PAGES.includes(path);
}

const YEAR_S = 365 * 24 * 60 * 60;

let manifest: ReadonlyMap<string, BuiltFile> | undefined;

/** Returns the file at a path outside the API. The files are public, because all data comes from the API. */
export function findConsoleFile(request: IncomingMessage, path: string): ConsoleFile {
  manifest ??= readManifest();
  const built = manifest.get(path);
  if (built === undefined) throw new HttpError("not_found", `there is nothing at ${path}`);
  if (request.method !== "GET" && request.method !== "HEAD")
    throw new HttpError("method_not_allowed", "use GET", { allow: "GET" });
  const isZipped = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
  const body = readBuiltFile(isZipped ? `${built.file}.gz` : built.file);
  if (body === undefined) throw new HttpError("not_found", `there is nothing at ${path}`);
  return { body, headers: headersOf(built, isZipped) };
}

function headersOf({ type, immutable }: BuiltFile, isZipped: boolean): ConsoleFile["headers"] {
  return {
    ...HEADERS,
    "content-type": type,
    "cache-control": immutable ? `public, max-age=${YEAR_S}, immutable` : "no-cache",
    vary: "accept-encoding",
    ...(isZipped && { "content-encoding": "gzip" }),
  };
}

function readManifest(): ReadonlyMap<string, BuiltFile> {
  const text = readBuiltFile("files.json");
  if (text === undefined) return new Map();
  const files = JSON.parse(text.toString("utf8")) as readonly BuiltFile[];
  return new Map(files.map((file) => [file.path, file]));
}
