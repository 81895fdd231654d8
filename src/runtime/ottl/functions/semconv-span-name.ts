import { encodedKey } from "#otlp/bytes";
import type { EditableMessage } from "../paths/editable-message.js";
import { readField, writeField } from "../paths/field-access.js";
import { plainText } from "../values/conversions.js";
import { type FunctionSpec, parameters } from "./function-spec.js";

/** Span names by the semantic conventions, from the span's attributes; older attributes count too. */

const SERVER = 2;
const CLIENT = 3;
const PRODUCER = 4;
const CONSUMER = 5;

/** The first of the attributes that exists, as text. */
function read(span: EditableMessage, ...keys: string[]): string | undefined {
  const key = keys.find((name) => span.hasAttribute(name, encodedKey(name)));
  return key === undefined ? undefined : plainText(span.attribute(key, encodedKey(key)));
}

function isTrue(span: EditableMessage, key: string): boolean {
  return span.attribute(key, encodedKey(key)) === true;
}

function joined(separator: string, ...parts: (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== "").join(separator);
}

function httpName(span: EditableMessage, subject: string): string {
  const method = read(span, "http.request.method", "http.method");
  const target = read(span, subject);
  return method === undefined ? "" : target === undefined ? method : `${method} ${target}`;
}

function rpcName(span: EditableMessage): string {
  const system = read(span, "rpc.system.name", "rpc.system");
  if (system === undefined) return "";
  const method = read(span, "rpc.method", "rpc.grpc.method");
  const service = read(span, "rpc.service", "rpc.grpc.service");
  if (method === undefined) return service === undefined ? system : `${service}/*`;
  return service === undefined ? method : `${service}/${method}`;
}

function databaseName(span: EditableMessage): string {
  const system = read(span, "db.system.name", "db.system");
  if (system === undefined) return "";
  const summary = read(span, "db.query.summary");
  if (summary !== undefined) return summary;
  const operation = read(span, "db.operation.name", "db.operation");
  return joined(" ", operation, databaseTarget(span)) || system;
}

function databaseTarget(span: EditableMessage): string {
  const namespace = read(span, "db.namespace", "db.name");
  const inside = read(span, "db.collection.name") ?? read(span, "db.stored_procedure.name");
  if (inside !== undefined) return joined(".", namespace || undefined, inside) || inside;
  return namespace || serverOf(span);
}

function serverOf(span: EditableMessage): string {
  const address = read(span, "server.address");
  const port = read(span, "server.port");
  return address === undefined ? "" : port === undefined ? address : `${address}:${port}`;
}

function messagingName(span: EditableMessage): string {
  const system = read(span, "messaging.system");
  if (system === undefined) return "";
  const operation = read(span, "messaging.operation.name", "messaging.operation");
  const destination = messagingDestination(span);
  if (destination === "") return operation ?? system;
  return operation === undefined ? destination : `${operation} ${destination}`;
}

function messagingDestination(span: EditableMessage): string {
  if (isTrue(span, "messaging.destination.temporary")) return "(temporary)";
  if (isTrue(span, "messaging.destination.anonymous")) return "(anonymous)";
  return (
    read(span, "messaging.destination.template") ??
    read(span, "messaging.destination.name", "messaging.destination") ??
    serverOf(span)
  );
}

function semconvName(span: EditableMessage, kind: number): string {
  if (kind === SERVER) return httpName(span, "http.route") || rpcName(span) || messagingName(span);
  if (kind === CLIENT)
    return httpName(span, "url.template") || rpcName(span) || databaseName(span) || messagingName(span);
  return kind === PRODUCER || kind === CONSUMER ? messagingName(span) : "";
}

const VERSIONS = { first: [1, 37], last: [1, 43] } as const;

function isKnownVersion(text: string): boolean {
  const match = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?$/.exec(text);
  if (match === null || Number(match[1]) !== VERSIONS.first[0]) return false;
  const minor = Number(match[2] ?? 0);
  const inside = minor >= VERSIONS.first[1] && minor <= VERSIONS.last[1];
  return inside && (minor < VERSIONS.last[1] || Number(match[3] ?? 0) === 0);
}

export const SEMCONV_SPAN_NAME: FunctionSpec = {
  name: "set_semconv_span_name",
  parameters: parameters("semconv_version: STRING", "original_span_name_attribute?: STRING"),
  returns: "",
  summary: `Names a span by the semantic conventions, from its HTTP, RPC, database or messaging attributes; if an attribute is given, it keeps the old name of a renamed span. Spans of other kinds keep their names. The version is between ${VERSIONS.first.join(".")}.0 and ${VERSIONS.last.join(".")}.0.`,
  example: 'set_semconv_span_name("1.37.0", "original_name")',
  contexts: ["span"],
  compile(args) {
    const kept = args.has("original_span_name_attribute")
      ? args.literalText("original_span_name_attribute")
      : undefined;
    if (!isKnownVersion(args.literalText("semconv_version")))
      args.reject(
        "semconv_version",
        `the version is between ${VERSIONS.first.join(".")}.0 and ${VERSIONS.last.join(".")}.0`,
      );
    if (kept === "") args.reject("original_span_name_attribute", "the name of an attribute cannot be empty");
    return (ctx) => {
      const span = ctx.around.span.current();
      const field = span.type.byName.get("name")!;
      const before = String(readField(span, field) ?? "");
      const name = semconvName(span, Number(readField(span, span.type.byName.get("kind")!) ?? 0));
      if (name === "" || name === before) return null;
      writeField(span, field, name);
      if (kept !== undefined) span.setAttribute(kept, encodedKey(kept), before);
      return null;
    };
  },
};
