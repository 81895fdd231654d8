import { type Batch, batchToJson } from "../../../src/plugin.js";
import { logBatch } from "../../support/sampled.js";

type Json = { readonly [key: string]: unknown };

/** Every list of attributes in a batch, as a plain object, by where it is. */
export function attributesIn(batch: Batch): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  const look = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value as Json)) {
      const place = /^\d+$/.test(key) ? path : `${path}/${key}`;
      if (key === "attributes") found[path] = plain(inner as Json[]);
      else look(inner, place);
    }
  };
  look(JSON.parse(batchToJson(batch).toString()), "");
  return found;
}

function plain(list: readonly Json[]): Record<string, unknown> {
  return Object.fromEntries(list.map(({ key, value }) => [key, plainValue(value as Json)]));
}

function plainValue(value: Json): unknown {
  const map = value["kvlistValue"] as { values: Json[] } | undefined;
  return map === undefined ? Object.values(value)[0] : plain(map.values);
}

/** Plain attributes as OTLP/JSON writes them. */
export function withAttributes(plainAttributes: object): Json[] {
  const one = batchToJson(logBatch([{ attributes: plainAttributes as Record<string, unknown> }])).toString();
  return (JSON.parse(one) as { resourceLogs: { scopeLogs: { logRecords: { attributes: Json[] }[] }[] }[] })
    .resourceLogs[0]!.scopeLogs[0]!.logRecords[0]!.attributes;
}
