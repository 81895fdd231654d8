import { logfmtOf } from "../../../src/exporters/loki/logfmt-line.js";
import { HINTS, type StreamLabels, without } from "../../../src/exporters/loki/stream-labels.js";
import type { Batch, Tree } from "../../../src/plugin.js";
import { isHeader } from "../../../src/runtime/net/http1/request-writer.js";
import {
  logTime,
  type OwnedTree,
  ownedTrees,
  treeAttributes,
  treeHex,
  treeText,
} from "../../../src/runtime/otlp/json/plain/owned-trees.js";
import { jsonText, plainValue, plainValueText } from "../../../src/runtime/otlp/json/plain/plain-value.js";

/** Computes the pushes of a batch with plain objects: time and line of each record, by tenant and labels. */
export function plainPushes(batch: Batch, labels: StreamLabels, format: string, nowMs: number) {
  const pushed: Record<string, Record<string, string[][]>> = {};
  const refused: number[] = [];
  for (const owned of ownedTrees(batch)) {
    const { place, tree, owner } = owned;
    const attributes = treeAttributes(tree);
    const { resource } = owner;
    const { text, taken, takenFromResource } = labels.of(attributes, resource, Number(tree["severityNumber"] ?? 0));
    const hint = resource[HINTS.format] ?? attributes[HINTS.format];
    const wanted = hint === undefined ? format : plainValueText(hint);
    const key = plainValueText(resource[HINTS.tenant] ?? attributes[HINTS.tenant]);
    const map = [resource, attributes].find((each) => Object.hasOwn(each, key));
    const tenant = map === undefined ? "" : plainValueText(map[key]);
    if (!["json", "logfmt", "raw"].includes(wanted) || !isHeader("X-Scope-OrgID", tenant) || text === "") {
      refused.push(place);
      continue;
    }
    const nanos = logTime(tree) || BigInt(nowMs) * 1_000_000n;
    const time = `${nanos / 1_000_000_000n}.${nanos % 1_000_000_000n}`;
    const line = lineOf(wanted, owned, without(attributes, taken), without(resource, takenFromResource));
    ((pushed[tenant] ??= {})[text] ??= []).push([time, line]);
  }
  return { pushed, refused };
}

function lineOf(
  format: string,
  { tree, owner }: OwnedTree,
  attributes: Readonly<Record<string, unknown>>,
  resource: Readonly<Record<string, unknown>>,
): string {
  const body = tree["body"] === undefined ? undefined : (plainValue(tree["body"] as Tree) ?? undefined);
  if (format === "raw") return plainValueText(body);
  const { scopeName: name, scopeVersion: version, scopeAttributes } = owner;
  const eventName = treeText(tree["eventName"]);
  const [traceId, spanId] = [treeHex(tree["traceId"]), treeHex(tree["spanId"])];
  const severity = treeText(tree["severityText"]);
  const flags = Number(tree["flags"] ?? 0);
  if (format === "logfmt")
    return logfmtOf({
      ...{ body, eventName, traceId, spanId, severity, flags, attributes, resource },
      scope: { name, version, attributes: scopeAttributes },
    });
  const unlessEmpty = (map: object) => (Object.keys(map).length === 0 ? undefined : map);
  return jsonText({
    name: eventName || undefined,
    body,
    traceid: traceId || undefined,
    spanid: spanId || undefined,
    severity: severity || undefined,
    flags: flags || undefined,
    attributes: unlessEmpty(attributes),
    resources: unlessEmpty(resource),
    instrumentation_scope: unlessEmpty({
      ...(name !== "" && { name }),
      ...(version !== "" && { version }),
      ...(unlessEmpty(scopeAttributes) && { attributes: scopeAttributes }),
    }),
  });
}
