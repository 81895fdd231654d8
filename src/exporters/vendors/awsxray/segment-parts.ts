import { type PlainAttributes, plainValueText } from "#otlp/json";

/** A document under construction, or a part of one. */
export type MutableSegment = Record<string, unknown>;

const CLIENT = 3;
const PRODUCER = 4;

export function isRemote(kind: number): boolean {
  return kind === CLIENT || kind === PRODUCER;
}

/** Returns the first of these attributes that is not empty, as text. */
export function firstText(attributes: PlainAttributes, keys: readonly string[]): string {
  for (const key of keys) {
    const value = attributes[key];
    if (value === undefined) continue;
    const text = plainValueText(value);
    if (text !== "") return text;
  }
  return "";
}

export function segmentName(
  name: string,
  kind: number,
  isSegment: boolean,
  attributes: PlainAttributes,
  resource: PlainAttributes,
): string {
  const found =
    (isRemote(kind) && remoteName(attributes)) ||
    (isSegment && plainValueText(resource["service.name"])) ||
    (isRemote(kind) && (firstText(attributes, ["rpc.service"]) || firstText(attributes, PEER))) ||
    name;
  const clean = PLAIN_NAME.test(found) ? found : found.replace(NOT_IN_NAME, "");
  return clean.slice(0, MAX_NAME) || "span";
}

/** Returns the name of the service or database that a span calls. */
function remoteName(attributes: PlainAttributes): string {
  const service = firstText(attributes, ["peer.service", "aws.service"]);
  if (service !== "") return service;
  const database = firstText(attributes, ["db.namespace", "db.name"]);
  if (database === "") return "";
  const host = firstText(attributes, PEER);
  return host === "" ? database : `${database}@${host}`;
}

const PEER = ["server.address", "net.peer.name", "http.host"];
const MAX_NAME = 200;
/** Most names need no cleaning, and this is faster than to look for letters of all languages. */
const PLAIN_NAME = /^[\w .:/%&#=+\\\-@]*$/;
const NOT_IN_NAME = /[^\p{L}\p{N}\p{Z}_.:/%&#=+\\\-@]/gu;

export function addHttp(segment: MutableSegment, attributes: PlainAttributes, code: number): void {
  const method = firstText(attributes, ["http.request.method", "http.method"]);
  if (method === "" && code === 0) return;
  const request: MutableSegment = {};
  if (method !== "") request["method"] = method;
  const url = urlOf(attributes);
  if (url !== "") request["url"] = url;
  const agent = firstText(attributes, ["user_agent.original", "http.user_agent"]);
  if (agent !== "") request["user_agent"] = agent;
  const client = firstText(attributes, ["client.address", "http.client_ip"]);
  if (client !== "") request["client_ip"] = client;
  segment["http"] = code > 0 ? { request, response: { status: code } } : { request };
}

/** Returns the full URL, which is put together if only its parts are known. */
function urlOf(attributes: PlainAttributes): string {
  const full = firstText(attributes, ["url.full", "http.url"]);
  if (full !== "") return full;
  const query = firstText(attributes, ["url.query"]);
  const path = firstText(attributes, ["url.path"]);
  const target = firstText(attributes, ["http.target"]) || path + (query === "" ? "" : `?${query}`);
  const host = firstText(attributes, ["server.address", "http.host", "net.host.name", "net.peer.name"]);
  if (host === "") return target;
  const scheme = firstText(attributes, ["url.scheme", "http.scheme"]) || "http";
  const port = firstText(attributes, ["server.port", "net.host.port", "net.peer.port"]);
  const isUsual = port === "" || host.includes(":") || port === (scheme === "https" ? "443" : "80");
  return `${scheme}://${host}${isUsual ? "" : `:${port}`}${target || "/"}`;
}

export function addSql(segment: MutableSegment, attributes: PlainAttributes): void {
  const system = firstText(attributes, ["db.system.name", "db.system"]);
  if (system === "" || /redis|mongodb|dynamodb/.test(system)) return;
  const sql: MutableSegment = { database_type: system };
  const query = firstText(attributes, ["db.query.text", "db.statement"]);
  if (query !== "") sql["sanitized_query"] = query;
  const user = firstText(attributes, ["db.user"]);
  if (user !== "") sql["user"] = user;
  segment["sql"] = sql;
}

const LAUNCH_TYPES: Readonly<Record<string, string>> = { ec2: "AWS::ECS::EC2", fargate: "AWS::ECS::Fargate" };

const ORIGINS: Readonly<Record<string, string>> = {
  aws_ec2: "AWS::EC2::Instance",
  aws_ecs: "AWS::ECS::Container",
  aws_eks: "AWS::EKS::Container",
  aws_elastic_beanstalk: "AWS::ElasticBeanstalk::Environment",
  aws_app_runner: "AWS::AppRunner::Service",
};

export function originOf(resource: PlainAttributes): string | undefined {
  const platform = plainValueText(resource["cloud.platform"]);
  const launch = platform === "aws_ecs" ? LAUNCH_TYPES[plainValueText(resource["aws.ecs.launchtype"])] : undefined;
  return launch ?? ORIGINS[platform];
}

/** X-Ray takes texts, numbers and booleans as annotations. */
export function isAnnotation(value: unknown): boolean {
  return typeof value !== "object" && typeof value !== "bigint";
}

/** Names of annotations have letters, digits, underscores and dots. */
export function annotationKey(name: string): string {
  return name.replace(/[^A-Za-z0-9_.]/g, "_").slice(0, MAX_KEY);
}

const MAX_KEY = 500;

/** Exceptions have ids of their own among the segments of a trace. They stay the same when the span is sent again. */
export function exceptionId(spanId: string, place: number): string {
  const id = BigInt(`0x${spanId || "0"}`) ^ (ODD_NUMBER * BigInt(place + 1));
  return BigInt.asUintN(64, id).toString(16).padStart(16, "0");
}

/** Its multiples spread over 64 bits. */
const ODD_NUMBER = 0x9e3779b97f4a7c15n;
