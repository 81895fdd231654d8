import { createSocket } from "node:dgram";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type StatementAnswer, startProtocolServer } from "../support/servers/mysql-protocol.js";
import type { CaseTable } from "./case-table.js";

/**
 * How the inputs of a table reach its component: as OTLP through a receiver in front of it, or, for receivers, in files
 * (`FOLDER/CASE.log`), in requests or packets to `PORT`, on a page that they scrape (`TARGET`, at the path `/CASE`; the
 * last input stays on it), as answers of a MySQL server (also at `TARGET`; the database is `CASE`, and an input is the
 * answers by what their statements contain), or not at all. Bytes are `{ base64 }`, everything else that is no text is sent as JSON.
 */
export type Feed = "otlp" | "file" | "http" | "tcp" | "udp" | "scrape" | "mysql" | "none";

/** A request of `http` or a page of `scrape`, apart from its body. */
interface Message {
  readonly method?: string;
  readonly path?: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Files and pages that must be there before a program starts. */
export interface Places {
  readonly folder: string;
  /** Host and port of the pages. */
  readonly target: string;
  close(): void;
}

export async function preparePlaces(table: CaseTable): Promise<Places> {
  const folder = mkdtempSync(join(tmpdir(), "differential-"));
  for (const [path, text] of Object.entries(table.files)) writeAt(join(folder, path), bytesOf(text));
  if (table.feed === "file")
    for (const [number, { inputs }] of table.cases.entries())
      writeAt(join(folder, `${number}.log`), Buffer.concat(inputs.map(bytesOf)));
  if (table.feed === "mysql") {
    const server = await startProtocolServer({
      answer: (statement, database) => answerOf(statement, table.cases[Number(database)]?.inputs[0]),
    });
    const close = () => {
      server.close();
      rmSync(folder, { recursive: true });
    };
    return { folder, target: `127.0.0.1:${server.port}`, close };
  }
  const pages = createServer((request, response) => {
    const number = Number(request.url?.slice(1).split("?")[0]);
    const { inputs } = table.cases[number]!;
    const page = messageOf(inputs[Math.min(turns.get(number) ?? 0, inputs.length - 1)]);
    turns.set(number, (turns.get(number) ?? 0) + 1);
    response.writeHead(200, { "content-type": page.type ?? "text/plain; version=0.0.4", ...page.headers });
    response.end(bytesOf(page.body));
  });
  const turns = new Map<number, number>();
  await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
  return {
    folder,
    target: `127.0.0.1:${(pages.address() as AddressInfo).port}`,
    close: () => {
      pages.close();
      pages.closeAllConnections();
      rmSync(folder, { recursive: true });
    },
  };
}

/** A statement without an answer gives no rows. */
function answerOf(statement: string, input: unknown): StatementAnswer {
  const known = Object.entries((input ?? {}) as Record<string, StatementAnswer>);
  const answer = known.find(([part]) => statement.toLowerCase().includes(part.toLowerCase()))?.[1];
  if (answer !== undefined) return answer;
  if (statement === "SELECT @@max_allowed_packet") return { columns: ["v"], rows: [["16777216"]] };
  return { columns: ["v"], rows: /^select version/i.test(statement) ? [["8.4.0"]] : [] };
}

function writeAt(file: string, bytes: Buffer): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, bytes);
}

/** Sends one input to a receiver, and gives the status of a request that it refused. */
export async function feed(how: Feed, port: number, input: unknown): Promise<{ status: number } | undefined> {
  if (how === "http") return post(port, messageOf(input));
  if (how === "tcp") await sendStream(port, bytesOf(input));
  if (how === "udp") await sendPacket(port, bytesOf(input));
  return undefined;
}

async function post(port: number, { method = "POST", path = "/", type, headers, body }: Message) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { "content-type": type ?? "application/json", ...headers },
    // A blob can be sent again when the server has closed an idle connection.
    body: new Blob([bytesOf(body)]),
  });
  await response.arrayBuffer();
  return response.ok ? undefined : { status: response.status };
}

async function sendStream(port: number, bytes: Buffer): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  await new Promise<void>((resolve, reject) => {
    socket.on("error", reject).on("close", () => resolve());
    socket.resume().end(bytes);
  });
}

async function sendPacket(port: number, bytes: Buffer): Promise<void> {
  const socket = createSocket("udp4");
  await new Promise<void>((resolve, reject) =>
    socket.send(bytes, port, "127.0.0.1", (error) => (error === null ? resolve() : reject(error))),
  );
  socket.close();
}

function messageOf(input: unknown): Message {
  return typeof input === "object" && input !== null && "body" in input ? (input as Message) : { body: input };
}

function bytesOf(content: unknown): Buffer<ArrayBuffer> {
  if (typeof content === "string") return Buffer.from(content);
  const { base64 } = (content ?? {}) as { base64?: string };
  return base64 === undefined ? Buffer.from(JSON.stringify(content ?? null)) : Buffer.from(base64, "base64");
}
