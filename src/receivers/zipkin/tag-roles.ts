import { ENDPOINT_KEYS, RESOURCE_KEYS, ZIPKIN_TAGS } from "#traces";

/** The meanings that a tag can have. */
export const TAG_ROLES = {
  attribute: 0,
  resource: 1,
  scopeName: 2,
  scopeVersion: 3,
  error: 4,
  kind: 5,
  traceState: 6,
  statusCode: 7,
  statusMessage: 8,
  /** An attribute with the name of one that an endpoint becomes. */
  endpoint: 9,
  /** Only the reader that parses whole spans knows what to do with it. */
  parsed: 10,
} as const;

interface TagRole {
  readonly key: Uint8Array;
  readonly role: number;
}

/** Indexed by the length of the key. */
const ROLES: readonly (readonly TagRole[])[] = rolesByLength([
  ...[...RESOURCE_KEYS].map((key) => [key, TAG_ROLES.resource] as const),
  ["otel.scope.name", TAG_ROLES.scopeName],
  [ZIPKIN_TAGS.scopeName, TAG_ROLES.scopeName],
  ["otel.scope.version", TAG_ROLES.scopeVersion],
  [ZIPKIN_TAGS.scopeVersion, TAG_ROLES.scopeVersion],
  [ZIPKIN_TAGS.error, TAG_ROLES.error],
  [ZIPKIN_TAGS.kind, TAG_ROLES.kind],
  [ZIPKIN_TAGS.traceState, TAG_ROLES.traceState],
  [ZIPKIN_TAGS.statusCode, TAG_ROLES.statusCode],
  [ZIPKIN_TAGS.statusMessage, TAG_ROLES.statusMessage],
  [ZIPKIN_TAGS.nameSource, TAG_ROLES.parsed],
  [ZIPKIN_TAGS.noStart, TAG_ROLES.parsed],
  [`${ZIPKIN_TAGS.link}0`, TAG_ROLES.parsed],
  ...[...Object.values(ENDPOINT_KEYS.local), ...Object.values(ENDPOINT_KEYS.remote)].map(
    (key) => [key, TAG_ROLES.endpoint] as const,
  ),
]);

function rolesByLength(roles: readonly (readonly [key: string, role: number])[]): TagRole[][] {
  const byLength: TagRole[][] = Array.from({ length: 1 + Math.max(...roles.map(([key]) => key.length)) }, () => []);
  for (const [key, role] of roles) byLength[key.length]!.push({ key: Buffer.from(key), role });
  return byLength;
}

/** The role of the tag whose key is at [at, end). */
export function tagRoleOf(json: Uint8Array, at: number, end: number): number {
  const candidates = ROLES[end - at];
  if (candidates === undefined) return TAG_ROLES.attribute;
  for (let i = 0; i < candidates.length; i++) {
    const { key, role } = candidates[i]!;
    if (key[0] !== json[at]) continue;
    let k = 1;
    while (k < key.length && key[k] === json[at + k]) k++;
    if (k === key.length) return role;
  }
  return TAG_ROLES.attribute;
}
