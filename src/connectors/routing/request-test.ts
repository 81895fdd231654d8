import type { Origin } from "../../plugin.js";

/** Tells whether the request that a batch came with matches. */
export type RequestTest = (origin: Origin) => boolean;

export const EXPECTED_REQUEST = 'expected request["key"] == "value" or request["key"] != "value"';
export const EXPECTED_CLIENT =
  'expected otelcol.client.metadata["key"][0] == "value", or the same with != or otelcol.grpc.metadata';

const REQUEST = /^\s*request\["([^"]+)"\]\s*(==|!=)\s*"([^"]*)"\s*$/;
const CLIENT = /^\s*otelcol\.(?:client|grpc)\.metadata\["([^"]+)"\]\[0\]\s*(==|!=)\s*"([^"]*)"\s*$/;

/**
 * Parses a condition of the context `request`. It holds if it does for any value of the header, so never for a missing
 * header.
 */
export function parseRequestCondition(text: string): RequestTest | undefined {
  return metadataTest(REQUEST.exec(text), (values) => values);
}

/** Parses the newer form, which compares only the first value. */
export function parseClientCondition(text: string): RequestTest | undefined {
  return metadataTest(CLIENT.exec(text), (values) => values.slice(0, 1));
}

function metadataTest(
  match: RegExpExecArray | null,
  pick: (values: readonly string[]) => readonly string[],
): RequestTest | undefined {
  if (match === null) return undefined;
  const [, name = "", operator, expected] = match;
  const key = name.toLowerCase();
  const isEqual = operator === "==";
  return ({ metadata }) => pick(metadata?.get(key) ?? []).some((value) => (value === expected) === isEqual);
}
