import { createHash } from "node:crypto";
import { type ArchiveSelection, baseOf, MINUTE_PARTITIONS, partitionFormatProblem } from "#archive";
import { AdminError, type DeadLetterLanguage, type RecordCondition } from "#contract/operations";
import type { RehydrationRequest } from "#contract/rehydration";
import { parseDuration } from "#contract/schema";
import { isPlace, placeName } from "#text";

/** Where an archive is. */
export type ArchivePlace =
  | { readonly kind: "folder"; readonly path: string }
  | {
      readonly kind: "s3";
      readonly bucket: string;
      readonly region: string;
      readonly endpoint: string | undefined;
      readonly isPathStyle: boolean;
    };

/** A request whose parts are known to be valid. */
export interface CheckedRequest {
  readonly request: RehydrationRequest;
  readonly place: ArchivePlace;
  readonly selection: ArchiveSelection;
  readonly condition: RecordCondition | undefined;
  /** The same for the same request, whenever it is made. */
  readonly fingerprint: string;
}

const DEFAULT_REGION = "us-east-1";

/** Throws an `AdminError` if the request makes no sense. `times` are those of the run that is resumed. */
export function checkRequest(
  request: RehydrationRequest,
  language: DeadLetterLanguage,
  now: number,
  times?: { readonly since: number; readonly until: number },
): CheckedRequest {
  const { since, until, rate, where, partition, timezone = "" } = request;
  const { place, prefix } = placeOf(request);
  const range = times ?? {
    since: timeOf("since", since, now),
    until: until === undefined ? now : timeOf("until", until, now),
  };
  if (range.since >= range.until) throw badRequest("since must be before until");
  if (rate !== undefined && !(rate > 0)) throw badRequest("rate must be a number of records per second above 0");
  const partitions = partition === "none" ? undefined : (partition ?? MINUTE_PARTITIONS);
  const problem = partitions === undefined ? undefined : partitionFormatProblem(partitions);
  if (problem !== undefined)
    throw badRequest(`the partition format ${JSON.stringify(partitions)} cannot be used: ${problem}`);
  if (timezone !== "" && !isPlace(timezone)) throw badRequest("timezone must be a zone such as Europe/Berlin");
  const condition = where === undefined ? undefined : language.parseCondition(where);
  if (condition instanceof Error) throw badRequest(`where: ${condition.message}`);
  const selection = { base: baseOf(prefix), partitions, timezone, ...range };
  return { request, place, selection, condition, fingerprint: fingerprintOf(request) };
}

function placeOf({ from, region = DEFAULT_REGION, endpoint, pathStyle = false }: RehydrationRequest): {
  readonly place: ArchivePlace;
  readonly prefix: string;
} {
  if (from.startsWith("file:")) {
    const path = from.slice("file:".length).replace(/^\/\/(?=\/)/, "");
    if (path === "") throw badRequest("from: name a folder after file:");
    return { place: { kind: "folder", path }, prefix: "" };
  }
  const [, bucket, prefix = ""] = /^s3:\/\/([^/]+)(?:\/(.*))?$/s.exec(from) ?? [];
  if (bucket === undefined) throw badRequest("from must be s3://BUCKET/PREFIX, or file: and the path of a folder");
  if (endpoint !== undefined && !/^https?:$/.test(URL.canParse(endpoint) ? new URL(endpoint).protocol : ""))
    throw badRequest("endpoint must be a URL with http or https");
  return { place: { kind: "s3", bucket, region, endpoint, isPathStyle: pathStyle }, prefix };
}

function timeOf(name: string, text: string, now: number): number {
  if (/^\d+$/.test(text)) return Number(text);
  const ago = parseDuration(text);
  if (ago !== undefined) return now - ago;
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(time)) return time;
  throw badRequest(`${name} must be a time such as 2026-01-31T08:00:00Z, or a duration before now such as 30d`);
}

/** The rate may change from one run to the next. A duration before now means the same request later. */
function fingerprintOf(request: RehydrationRequest): string {
  const { from, to, since, until, where, partition, region, endpoint } = request;
  const zone = placeName(request.timezone ?? "");
  const parts = [from, to, since, until, where, partition, region, endpoint, ...(zone === "UTC" ? [] : [zone])];
  return createHash("sha256")
    .update(JSON.stringify(parts.map((part) => part ?? null)))
    .digest("hex")
    .slice(0, 32);
}

function badRequest(message: string): AdminError {
  return new AdminError("bad_request", message);
}
