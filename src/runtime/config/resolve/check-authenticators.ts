import type { AuthSide } from "#contract";
import type { ConfigPath } from "#contract/schema";
import { didYouMean, withArticle } from "#contract/schema";
import type { ExtensionRole } from "#contract/services";
import { parseId } from "../schema/component-id.js";
import { serviceSchema } from "../schema/service-schema.js";
import { entriesOf, itemsOf, type SchemaValue, visitSchema } from "../schema/visit-schema.js";
import { metaOf, type SchemaMeta } from "../schema/zod-schema.js";
import type { Findings } from "../text/findings.js";
import type { MapNode, Span } from "../text/node.js";
import { callPlugin, pluginCode } from "./call-plugin.js";
import type { ComponentDefinition, ComponentDefinitions } from "./spec.js";

/** A reference such as `auth: {authenticator: ID}` or `k8s_leader_elector: ID` in the config. */
interface AuthenticatorReference {
  readonly id: string;
  /** The ability that the extension must have. */
  readonly role: AuthSide | ExtensionRole;
  readonly span: Span;
  readonly path: ConfigPath;
  /** The extension that contains the reference; undefined for other components and the service. */
  readonly from: string | undefined;
}

interface AuthenticatorsOptions {
  readonly root: MapNode;
  readonly definitions: ComponentDefinitions;
  readonly used: ReadonlySet<ComponentDefinition>;
  readonly configOf: (definition: ComponentDefinition) => unknown;
  readonly findings: Findings;
}

/**
 * Checks that every `auth` in the running components refers to a running extension, because a port must not open
 * without its authenticator; and so for other keys that name an extension. Returns for each extension the ids of the extensions that it asks; those must start first.
 */
export function checkAuthenticators(options: AuthenticatorsOptions): ReadonlyMap<string, readonly string[]> {
  const asked = new Map<string, string[]>();
  for (const reference of findReferences(options)) {
    checkReference(reference, options);
    const { from, id } = reference;
    if (from === undefined) continue;
    asked.set(from, [...(asked.get(from) ?? []), id]);
    if (reaches(asked, id, from))
      report(reference, `extension "${from}" would ask itself for credentials`, options.findings);
  }
  return asked;
}

/** Reorders extensions so that each comes after the extensions that it asks; otherwise keeps their order. */
export function authenticatorsFirst<T>(
  extensions: Iterable<readonly [string, T]>,
  asked: ReadonlyMap<string, readonly string[]>,
): Map<string, T> {
  const all = new Map(extensions);
  const ordered = new Map<string, T>();
  const add = (id: string) => {
    const extension = all.get(id);
    if (extension === undefined || ordered.has(id)) return;
    all.delete(id);
    for (const earlier of asked.get(id) ?? []) add(earlier);
    ordered.set(id, extension);
  };
  for (const id of [...all.keys()]) add(id);
  return ordered;
}

function findReferences({ root, used }: AuthenticatorsOptions): AuthenticatorReference[] {
  const service = root.entries.get("service")?.value;
  const inService =
    service === undefined
      ? []
      : referencesIn({ node: service, schemas: [serviceSchema], path: ["service"] }, undefined);
  const inComponents = [...used].flatMap(({ factory, node, kind, id, section, name }) => {
    if (factory === undefined) return [];
    const value = { node, schemas: [factory.schema], path: [section, name] };
    return referencesIn(value, kind === "extension" ? id : undefined);
  });
  return [...inService, ...inComponents];
}

function referencesIn(value: SchemaValue, from: string | undefined): AuthenticatorReference[] {
  return visitSchema<AuthenticatorReference[]>(value, {
    scalar: ({ node, schemas, path }) => {
      const role = schemas
        .map(metaOf)
        .map(roleOf)
        .find((found) => found !== undefined);
      if (role === undefined || typeof node.value !== "string") return [];
      return [{ id: parseId(node.value)?.id ?? node.value, role, span: node, path, from }];
    },
    list: (list) => itemsOf(list).flatMap((item) => referencesIn(item, from)),
    map: (map) => entriesOf(map).flatMap((entry) => referencesIn(entry, from)),
  });
}

function checkReference(reference: AuthenticatorReference, options: AuthenticatorsOptions): void {
  const { id, role, span, path } = reference;
  const { definitions, used, configOf, findings } = options;
  const definition = definitions.extensions.get(id);
  if (definition === undefined) {
    const message = `extension "${id}" is not defined under extensions`;
    findings.error("undefined_reference", span, path, message, didYouMean(id, [...definitions.extensions.keys()]));
    return;
  }
  const { factory } = definition;
  if (factory?.kind !== "extension") return; // The type does not exist, which is reported elsewhere, or has no effect.
  if (!used.has(definition)) {
    const suggestion = `add ${id} to service.extensions`;
    findings.error("extension_off", span, path, `extension "${id}" is not among service.extensions`, { suggestion });
    return;
  }
  const config = configOf(definition);
  if (config === undefined) return;
  if (role === "observer" || role === "leader_elector") {
    if (factory.serves !== role) report(reference, `extension "${id}" ${CANNOT_SERVE[role]}`, findings);
    return;
  }
  const ask = () => factory.authenticates?.(config) ?? [];
  const sides = callPlugin(ask, pluginCode("authenticates", definition, factory, "error"), findings);
  if (sides === undefined || sides.includes(role)) return;
  const other = sides.length === 0 ? "" : `; it is configured for ${withArticle(sides[0]!)} only`;
  report(reference, `extension "${id}" cannot authenticate for ${withArticle(role)}${other}`, findings);
}

const CANNOT_SERVE: Readonly<Record<ExtensionRole, string>> = {
  observer: "finds no endpoints; expected one such as k8s_observer or host_observer",
  leader_elector: "elects no leader; expected one such as k8s_leader_elector",
};

function roleOf({ authenticator, extensionRole }: SchemaMeta): AuthenticatorReference["role"] | undefined {
  return authenticator ?? extensionRole;
}

function report({ span, path }: AuthenticatorReference, message: string, findings: Findings): void {
  findings.error("cannot_authenticate", span, path, message);
}

function reaches(asked: ReadonlyMap<string, readonly string[]>, from: string, to: string): boolean {
  const seen = new Set<string>();
  const visit = (id: string): boolean => {
    if (id === to) return true;
    if (seen.has(id)) return false;
    seen.add(id);
    return (asked.get(id) ?? []).some(visit);
  };
  return visit(from);
}
