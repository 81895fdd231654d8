import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { decompress } from "../../../src/runtime/codecs/compression/decompress.js";

export type Row = Readonly<Record<string, unknown>>;

interface ServerFault {
  readonly status: number;
  readonly code?: number;
  readonly message?: string;
}

/**
 * Implements as much of ClickHouse's documented HTTP interface as an insert needs: the statement in the body,
 * Content-Encoding, Basic credentials, settings in the URL, CREATE, system.columns, INSERT ... FORMAT JSONEachRow, and
 * errors with X-ClickHouse-Exception-Code. A column accepts only values of its type; `fault` can decide before that.
 */
export async function startClickhouseServer(fault: (statement: string) => ServerFault | undefined = () => undefined) {
  const tables = new Map<string, Map<string, string>>();
  const rows = new Map<string, Row[]>();
  const statements: string[] = [];
  const requests: { readonly settings: URLSearchParams; readonly user: string; readonly encoding: string }[] = [];

  const run = (statement: string): string => {
    const [, created, lines = ""] = /^CREATE TABLE IF NOT EXISTS (\S+)[^(]*\((.*)\) ENGINE = /s.exec(statement) ?? [];
    if (created !== undefined && !tables.has(created)) tables.set(created, columnsOf(lines));
    const [, database, table] =
      /FROM system\.columns WHERE database = '(.*)' AND table = '(.*)' FORMAT/.exec(statement) ?? [];
    if (table !== undefined) {
      const columns = tables.get(`\`${database}\`.\`${table}\``) ?? new Map();
      return [...columns].map((column) => `${JSON.stringify(column)}\n`).join("");
    }
    if (statement.startsWith("INSERT")) insert(statement);
    return "";
  };

  const insert = (statement: string) => {
    const [head = "", ...lines] = statement.split("\n");
    const [, name = "", names = ""] = /^INSERT INTO (\S+) \((.*?)\).* FORMAT JSONEachRow$/.exec(head) ?? [];
    const columns = tables.get(name);
    if (columns === undefined) throw { status: 404, code: 60, message: `Unknown table ${name}` };
    for (const column of names.replaceAll("`", "").split(", "))
      if (!columns.has(column)) throw { status: 400, code: 16, message: `No such column ${column}` };
    const read = lines.filter((line) => line !== "").map((line) => JSON.parse(quoteBigNumbers(line)) as Row);
    for (const row of read)
      for (const [column, value] of Object.entries(row))
        if (!fits(value, columns.get(column) ?? "")) throw { status: 400, code: 27, message: `Cannot parse ${column}` };
    rows.set(name, [...(rows.get(name) ?? []), ...read]);
  };

  const server = createServer(async (request, response) => {
    const encoding = String(request.headers["content-encoding"] ?? "");
    const packed = await buffer(request);
    const body = encoding === "" ? packed : await decompress(encoding, packed, { limit: 1e8, reserve: () => true });
    const statement = body.toString();
    statements.push(statement);
    const user = Buffer.from((request.headers.authorization ?? "Basic ").slice(6), "base64").toString();
    requests.push({ settings: new URL(request.url!, "http://x").searchParams, user, encoding });
    try {
      const planned = fault(statement);
      if (planned !== undefined) throw planned;
      const text = run(statement);
      response.writeHead(200).end(text);
    } catch (error) {
      const { status, code, message = "" } = error as ServerFault;
      response
        .writeHead(status, code === undefined ? {} : { "X-ClickHouse-Exception-Code": String(code) })
        .end(message);
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}`, tables, rows, statements, requests };
}

/** Numbers beyond the range of JavaScript stay digits. */
function quoteBigNumbers(line: string): string {
  return line.replace(/([:[,])(-?\d{16,})(?=[,\]}])/g, '$1"$2"');
}

function columnsOf(lines: string): Map<string, string> {
  const columns = [
    ...lines.matchAll(
      /`([^`]+)` ((?:Array\(|Map\(|LowCardinality\(|DateTime64\()?[^`]*?)(?: CODEC\(.*?\)\)?)?(?=, `|, INDEX|$)/g,
    ),
  ];
  return new Map(columns.map(([, name, type]) => [name!, type!]));
}

function fits(value: unknown, type: string): boolean {
  const inner = /^(?:Array|LowCardinality)\((.*)\)$/.exec(type);
  if (type.startsWith("Array(")) return Array.isArray(value) && value.every((each) => fits(each, inner![1]!));
  if (inner) return fits(value, inner[1]!);
  if (type === "String") return typeof value === "string";
  if (type.startsWith("Map(")) return isObject(value) && Object.values(value).every((each) => typeof each === "string");
  if (type === "JSON") return isObject(value);
  if (type === "Bool") return typeof value === "boolean";
  if (type === "Float64") return typeof value === "number" || /^(nan|-?inf)$/.test(String(value));
  if (type === "DateTime") return Number(value) < 2 ** 32;
  return /^(DateTime64\(\d\)|U?Int\d+)$/.test(type) && /^-?\d+$/.test(String(value));
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
