import { describeKeys, TYPE_PATTERN } from "#config/schema";
import { CONTRACT_VERSION, type ComponentFactory } from "#contract";
import { errorMessage } from "#contract/errors";
import { isZod } from "#contract/schema";
import { SIGNALS } from "#otlp/signals";
import { isObject } from "#text/json";
import type { PluginModule } from "./import-url.js";

const KINDS = ["receiver", "processor", "exporter", "connector", "extension"];

/** The components that a module exports, and their problems. */
interface ExportedComponents {
  readonly factories: readonly ComponentFactory[];
  readonly errors: readonly string[];
}

/**
 * Finds the components among a module's exports: the default export, a list as default export, or named exports.
 * Recognises them by their shape, since a plugin may use another copy of Sluice. Never throws.
 */
export function exportedComponents(module: PluginModule): ExportedComponents {
  try {
    return componentsOf(module);
  } catch (error) {
    return { factories: [], errors: [`exports something that throws when it is inspected: ${errorMessage(error)}`] };
  }
}

function componentsOf(module: PluginModule): ExportedComponents {
  const candidates = new Set(Object.entries(module).flatMap(([name, value]) => candidatesIn(name, value)));
  const all = [...candidates].map((candidate) => ({ candidate, reason: invalidReason(candidate) }));
  const factories = all.flatMap(({ candidate, reason }) =>
    reason === undefined ? [candidate as ComponentFactory] : [],
  );
  const reasons = all.flatMap(({ reason }) => reason ?? []);
  if (all.length === 0) reasons.push(`exports no component${exportedNamesHint(module)}`);
  return { factories, errors: [...reasons, ...duplicateTypes(factories)] };
}

/** Everything in a default export must be a component; named exports count only if they look like one. */
function candidatesIn(name: string, value: unknown): unknown[] {
  if (Array.isArray(value)) return name === "default" || value.some(looksLikeFactory) ? value : [];
  if (looksLikeFactory(value)) return [value];
  // A CommonJS module is its own default export.
  if (name === "default" && isObject(value)) return Object.values(value).flatMap((inner) => candidatesIn("", inner));
  return [];
}

function looksLikeFactory(value: unknown): boolean {
  return isObject(value) && typeof value["kind"] === "string" && "type" in value && "create" in value;
}

function invalidReason(value: unknown): string | undefined {
  if (!isObject(value)) return `exports a list with ${describe(value)} in it; expected components`;
  const { kind, type, create, contract, schema, signals, routes, aliases = [] } = value;
  if (typeof kind !== "string" || !KINDS.includes(kind))
    return `exports something of kind ${describe(kind)}; ${DEFINE_HINT}`;
  if (typeof type !== "string" || !TYPE_PATTERN.test(type)) {
    return `exports a ${kind} whose type is ${describe(type)}; a type is a letter and then letters, digits, _ and -`;
  }
  const which = `exports the ${kind} "${type}"`;
  if (typeof contract !== "number") return `${which} without a contract; ${DEFINE_HINT}`;
  if (contract !== CONTRACT_VERSION) return undefined; // other contract versions cannot be checked further
  if (typeof create !== "function") return `${which}, whose create is ${describe(create)}; expected a function`;
  if (!Array.isArray(aliases) || !aliases.every((alias) => typeof alias === "string" && TYPE_PATTERN.test(alias))) {
    return `${which}, whose aliases are ${describe(aliases)}; expected a list of types`;
  }
  if (!isZod(schema)) return `${which} with a schema that is none; ${DEFINE_HINT}`;
  describeKeys(schema); // finds here a schema that throws when it is inspected
  const lists = kind === "extension" ? [] : kind === "connector" ? routes : signals;
  if (!Array.isArray(lists)) return `${which} without ${kind === "connector" ? "routes" : "signals"}; ${DEFINE_HINT}`;
  const named: unknown[] = kind === "connector" ? lists.flatMap(signalsOf) : lists;
  const at = named.findIndex((signal) => !SIGNALS.includes(signal as never));
  return at < 0 ? undefined : `${which} for ${describe(named[at])}; signals are ${SIGNALS.join(", ")}`;
}

function signalsOf(route: unknown): unknown[] {
  return isObject(route) ? [route["from"], route["to"]] : [route];
}

const DEFINE_HINT = "make it with defineProcessor, defineReceiver, defineExporter, defineConnector or defineExtension";

function duplicateTypes(factories: readonly ComponentFactory[]): string[] {
  const seen = new Set<string>();
  return factories.flatMap(({ kind, type }) => {
    const name = `${kind} "${type}"`;
    if (!seen.has(name)) {
      seen.add(name);
      return [];
    }
    return [`exports two components as ${name}; give one of them another type`];
  });
}

function exportedNamesHint(module: PluginModule): string {
  const names = Object.keys(module);
  if (names.length === 0) return ": export default defineProcessor({ ... })";
  const kinds = names.map((name) => `${name} (${describe(module[name])})`).slice(0, 5);
  return `, only ${kinds.join(", ")}; expected the result of defineProcessor or a similar function`;
}

function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 60));
  if (value === null || value === undefined) return String(value);
  return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`;
}
