/**
 * Makes docs/openapi.yaml: paths, roles, parameters and bodies from the routes, answers from their types, and the rest
 * from openapi-prose.yaml.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Document, isCollection, parse, visit } from "yaml";
import { z } from "zod";
import { answerSchemas } from "./answer-schemas.js";

const prose = parse(readFileSync(join(import.meta.dirname, "openapi-prose.yaml"), "utf8"));
const ERROR = { $ref: "#/components/responses/Error" };
const TEXTS = { by: "By", reason: "Why" };

/**
 * The text of docs/openapi.yaml.
 *
 * @param {{
 *   routes: readonly object[],
 *   apiErrors: Record<string, { status: number }>,
 *   filters: readonly string[],
 *   enums: Record<string, readonly string[]>,
 * }} tables
 */
export function openapi({ routes, apiErrors, filters, enums }) {
  const { operations, schemas } = answerSchemas(enums);
  addMembers({ ...schemas, ...operations });
  hideMembers(schemas);
  const lists = Object.entries(enums).map(([name, values]) => [name, { type: "string", enum: [...values] }]);
  const query = { type: "object", additionalProperties: false, properties: pick(filters, filterOf) };
  const all = { ...prose.texts, ...Object.fromEntries(lists), Query: query, ...schemas };
  const components = {
    securitySchemes: { token: { type: "http", scheme: "bearer" } },
    responses: { Error: errorResponse(apiErrors) },
    schemas: Object.fromEntries(Object.entries(all).toSorted(([one], [other]) => (one < other ? -1 : 1))),
  };
  const head = { openapi: "3.1.0", info: prose.info, servers: [{ url: "http://127.0.0.1:55679/api/v1" }] };
  return textOf({ ...head, security: [{ token: [] }], paths: pathsOf(routes, operations), components });
}

function pathsOf(routes, answers) {
  const keys = routes.map(keyOf);
  for (const key of Object.keys(prose.operations)) if (!keys.includes(key)) throw new Error(`there is no route ${key}`);
  const paths = { "/": prose.root };
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operationOf(route, answers[keyOf(route)]);
  }
  return paths;
}

function operationOf(route, answer) {
  const key = keyOf(route);
  const said = prose.operations[key];
  if (said === undefined || answer === undefined) throw new Error(`openapi-prose.yaml says nothing of ${key}`);
  const { summary, description, as = "application/json" } = said;
  const parameters = [...pathParameters(route.path), ...queryParameters(route, said)];
  const responses = Object.entries(said.answers).map(([status, text]) => [
    status,
    { description: text, content: { [as]: { schema: answer } } },
  ]);
  return {
    ...(route.role !== undefined && { "x-role": route.role }),
    summary,
    ...(description !== undefined && { description }),
    ...(parameters.length > 0 && { parameters }),
    ...bodyOf(route, said),
    responses: { ...Object.fromEntries(responses), default: ERROR },
  };
}

function pathParameters(path) {
  const [, description] = Object.entries(prose.ids).find(([prefix]) => path.startsWith(prefix)) ?? [];
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    ...{ name, in: "path", required: true, schema: { type: "string" } },
    ...(description && { description }),
  }));
}

function queryParameters({ method, path, query }, { parameters = {} }) {
  const names = query ?? Object.keys(parameters);
  const unknown = Object.keys(parameters).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`${method} ${path} has no parameter ${unknown}`);
  return names.map((name) => {
    const own =
      parameters[name] ?? (name in TEXTS && !(name === "reason" && names.includes("exporter")) ? ref(name) : undefined);
    const { required, description, ...schema } = own ?? filterOf(name);
    return { name, in: "query", ...(required && { required }), schema, ...(description && { description }) };
  });
}

const ref = (name) => ({ $ref: `#/components/schemas/${TEXTS[name]}` });

function filterOf(name) {
  if (prose.filters[name] === undefined) throw new Error(`openapi-prose.yaml does not describe the filter ${name}`);
  return prose.filters[name];
}

function bodyOf({ method, path, takes, contentType }, { fields = {}, needsBody = false }) {
  if (contentType !== undefined)
    return { requestBody: { required: true, content: { [contentType]: { schema: { type: "string" } } } } };
  if (takes === undefined) return {};
  const { $schema: _, ...schema } = z.toJSONSchema(takes, { io: "input", unrepresentable: "any" });
  const unknown = Object.keys(fields).find((name) => schema.properties[name] === undefined);
  if (unknown !== undefined) throw new Error(`the body of ${method} ${path} has no ${unknown}`);
  const properties = Object.entries(schema.properties).map(([name, field]) => [
    name,
    { ...fieldOf(name, field, schema.required?.includes(name)), ...saidOf(fields[name]) },
  ]);
  const content = { "application/json": { schema: { ...schema, properties: Object.fromEntries(properties) } } };
  return { requestBody: { ...((schema.required || needsBody) && { required: true }), content } };
}

function fieldOf(name, field, isRequired) {
  if (name === "reason" && isRequired) return { $ref: "#/components/schemas/WhyRevealed" };
  if (name in TEXTS) return ref(name);
  if (name === "query") return { $ref: "#/components/schemas/Query" };
  const { propertyNames: _, maximum, ...schema } = field;
  return { ...schema, ...(maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER && { maximum }) };
}

/** Adds what the source does not say of members: `Rehydration.problems.fault`. */
function addMembers(schemas) {
  for (const [path, said] of Object.entries(prose.members)) {
    const [name, ...steps] = path.split(".");
    let at = schemas[name];
    for (const step of steps) at = (at?.items ?? at?.additionalProperties ?? at)?.properties?.[step];
    if (at === undefined) throw new Error(`no answer has a member ${path}`);
    Object.assign(at, saidOf(said));
  }
}

function hideMembers(schemas) {
  for (const [name, member] of prose.hidden.map((path) => path.split("."))) {
    if (schemas[name]?.properties[member] === undefined) throw new Error(`${name} has no optional member ${member}`);
    delete schemas[name].properties[member];
  }
}

/** A text describes; the rest is added as it is. */
const saidOf = (said) => (typeof said === "string" ? { description: said } : said);

function errorResponse(apiErrors) {
  const codes = Object.entries(apiErrors).toSorted(([, one], [, other]) => one.status - other.status);
  const text = { type: "string" };
  const error = {
    ...{ type: "object", required: ["code", "message"] },
    properties: { code: { type: "string", enum: codes.map(([code]) => code) }, message: text },
  };
  const schema = { type: "object", required: ["error"], properties: { error } };
  const description = `${codes.map(([code, { status }]) => `${status} ${code}`).join(", ")}.`;
  return { description, content: { "application/json": { schema } } };
}

const keyOf = ({ method, path }) => `${method} ${path}`;
const pick = (names, of) => Object.fromEntries(names.map((name) => [name, of(name)]));

/** Writes small lists and maps on one line. */
function textOf(page) {
  const document = new Document(page, { aliasDuplicateObjects: false });
  visit(document, {
    Collection(_, node) {
      const isSmall = node.items.every((each) => !isCollection(each) && !isCollection(each.value));
      if (isSmall && JSON.stringify(node).length < 100) node.flow = true;
    },
  });
  return `${COMMENT}${document.toString({ lineWidth: 120, flowCollectionPadding: true })}`;
}

const COMMENT =
  "# Made by node scripts/pages/openapi.js from the routes, the types of their answers, and openapi-prose.yaml: edit those.\n";

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const dist = (path) => import(new URL(`../../dist/${path}`, import.meta.url).href);
  const { ROUTES } = await dist("extensions/admin-api/routes.js");
  const { API_ERRORS } = await dist("extensions/admin-api/http-error.js");
  const { FILTERS } = await dist("extensions/admin-api/parameters.js");
  const { AUDITED_ACTIONS, FAILURE_REASONS } = await dist("runtime/contract/operations/door.js");
  const enums = { AuditedAction: AUDITED_ACTIONS, Reason: FAILURE_REASONS };
  const text = openapi({ routes: ROUTES, apiErrors: API_ERRORS, filters: FILTERS, enums });
  writeFileSync(new URL("../../docs/openapi.yaml", import.meta.url), text);
}
