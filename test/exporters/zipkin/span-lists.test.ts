import fc from "fast-check";
import { expect, it } from "vitest";
import type { ZipkinEndpoint, ZipkinSpan } from "#traces";
import { jsonListsOf } from "../../../src/exporters/zipkin/span-lists.js";
import { zipkinSpansOf } from "../../../src/exporters/zipkin/to-zipkin.js";
import { Batch, encodeTree, type Tree } from "../../../src/plugin.js";
import { runs } from "../../support/runs.js";
import { request } from "../../support/telemetry/telemetry-arbitraries.js";
import { Dice, rewritten } from "../../support/telemetry/wire-forms.js";

/** So long that no length or id in the bytes looks like it. */
const MARKED = "éßéß";

const KEYS = [
  ...[
    "error",
    "http.status_code",
    "http.response.status_code",
    "network.local.address",
    "net.host.port",
    "network.peer.address",
  ],
  ...["net.peer.port", "service.peer.name", "service.peer.name", "service.name", "faas.name", "k8s.deployment.name"],
  ...["process.executable.name", "otlp.service.name.source", "otel.library.name", "span.kind", "w3c.tracestate"],
  ...["otel.status_code", "otlp.link.0", "a", "b", MARKED, "__proto__", "k".repeat(130)],
];
const VALUES = ["10.0.0.1", "::1", "80", "", "true", "x", MARKED, '"\\\n', "t".repeat(140)];

/** Gives attributes keys and values that affect the result. */
function withTags(tree: Tree, dice: Dice): Tree {
  const pick = <T>(list: readonly T[]) => list[dice.upTo(list.length - 1)]!;
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
    if (Object.hasOwn(value, "key")) {
      const own = (value as Tree)["value"] ?? {};
      return { key: pick(KEYS), value: dice.upTo(1) === 0 ? { stringValue: pick(VALUES) } : visit(own) };
    }
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, visit(each)]));
  };
  return visit(tree) as Tree;
}

/** Names have lower case in JSON, and only there. */
function lowerCase({ name, localEndpoint, remoteEndpoint, ...span }: ZipkinSpan): ZipkinSpan {
  const lower = (endpoint: ZipkinEndpoint) =>
    endpoint.serviceName === undefined ? endpoint : { ...endpoint, serviceName: endpoint.serviceName.toLowerCase() };
  return {
    ...span,
    ...(name !== undefined && { name: name.toLowerCase() }),
    ...(localEndpoint !== undefined && { localEndpoint: lower(localEndpoint) }),
    ...(remoteEndpoint !== undefined && { remoteEndpoint: lower(remoteEndpoint) }),
  };
}

/** Makes every marked text invalid UTF-8. */
function broken(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.from(bytes);
  for (let at = copy.indexOf(MARKED); at >= 0; at = copy.indexOf(MARKED, at + 1)) copy[at] = 0xff;
  return copy;
}

/** JSON numbers beyond the exact range of doubles count as equal. */
const parsed = (json: string): unknown =>
  JSON.parse(json, (_, value) => (typeof value === "number" && value > Number.MAX_SAFE_INTEGER ? "large" : value));

const flags = { shuffled: fc.boolean(), unknown: fc.boolean(), padded: fc.boolean(), repeated: fc.boolean() };

it("writes the same JSON as an implementation with plain objects, whatever the form of the bytes", () => {
  fc.assert(
    fc.property(
      request("traces"),
      fc.record(flags),
      fc.boolean(),
      fc.integer(),
      fc.constantFrom(undefined, "unknown"),
      (tree, oddities, isBroken, seed, service) => {
        const dice = new Dice(seed);
        const { bytes } = encodeTree("traces", withTags(tree, dice));
        const odd = rewritten("traces", bytes, oddities, seed);
        const batch = Batch.admit("traces", isBroken ? broken(odd) : odd);
        const { bodies: lists, withoutIds } = jsonListsOf(batch, service);
        const plain = [...zipkinSpansOf(batch, service)];
        const found = lists.flatMap((list) => parsed(Buffer.from(list.encode()).toString()) as object[]);
        const named = plain.filter(({ hasIds }) => hasIds);
        expect(found).toEqual(parsed(JSON.stringify(named.map((span) => lowerCase(span.convert())))));
        expect(withoutIds).toEqual(plain.flatMap(({ hasIds }, i) => (hasIds ? [] : [i])));
        expect([...lists.flatMap(({ records }) => records), ...withoutIds].sort((a, b) => a - b)).toEqual(
          plain.map((_, i) => i),
        );
      },
    ),
    runs(100),
  );
});

it("writes the last of several tags with the same key, however many there are, and shares none between spans", () => {
  const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const many = Array.from({ length: 200 }, (_, i) => attribute(`k${i % 150}`, `${i}`));
  const ids = { traceId: Buffer.alloc(16, 1), spanId: Buffer.alloc(8, 1) };
  const spans = [
    { ...ids, attributes: [...many, attribute("shared", "own")] },
    { ...ids, attributes: [attribute("a", "1"), attribute("a", "2")] },
  ];
  const resource = { attributes: [attribute("shared", "resource"), attribute("error", "no")] };
  const batch = encodeTree("traces", { resourceSpans: [{ resource, scopeSpans: [{ spans }] }] } as unknown as Tree);
  const [list = expect.unreachable()] = jsonListsOf(batch, undefined).bodies;
  const [first, second] = JSON.parse(Buffer.from(list.encode()).toString());
  expect(first.tags).toEqual({
    ...Object.fromEntries(many.map(({ key, value }) => [key, value.stringValue])),
    shared: "own",
  });
  expect(second.tags).toEqual({ shared: "resource", a: "2" });
});
