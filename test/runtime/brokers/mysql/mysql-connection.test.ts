import { readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { MysqlConnection, type MysqlSettings } from "../../../../src/runtime/brokers/mysql/mysql-connection.js";
import type { MysqlResult } from "../../../../src/runtime/brokers/mysql/result-reader.js";
import {
  columnPayload,
  END,
  lengthOf,
  OK,
  type ProtocolServerSettings,
  rowPayload,
  type StatementAnswer,
  startProtocolServer,
} from "../../../support/servers/mysql-protocol.js";
import { TLS_FILES } from "../../net/tls/files.js";

const patient = () => AbortSignal.timeout(20_000);

/** A server that gives every statement this answer, and what a client needs to reach it. */
async function serverWith(answer: StatementAnswer, settings: Partial<ProtocolServerSettings> = {}) {
  const server = await startProtocolServer({ answer: () => answer, ...settings });
  onTestFinished(() => server.close());
  const open = (changes: Partial<MysqlSettings & MysqlSettings["credentials"]> = {}) => {
    const { username = "ann", password = "", allowsNativePassword = true, allowsClearPassword = false } = changes;
    const credentials = { username, password, allowsNativePassword, allowsClearPassword };
    const address = { host: "127.0.0.1", port: server.port };
    const rest = { tls: undefined, database: "", program: "test", maxResultBytes: 10_000_000, ...changes };
    return MysqlConnection.open({ address, ...rest, credentials }, patient());
  };
  return { server, open };
}

async function queryWith(answer: StatementAnswer, changes: Partial<MysqlSettings> = {}) {
  const { open } = await serverWith(answer);
  const connection = await open(changes);
  const result = await connection.query("SELECT 1", patient()).catch((error: Error) => error.message);
  return { result, connection };
}

describe("a connection to MySQL", () => {
  it("gives the rows of a statement as text, and NULL as undefined", async () => {
    const long = "x".repeat(70_000);
    const rows = [
      ["1", null, "ä€😀"],
      ["18446744073709551615", "", long],
    ];
    const { result } = await queryWith({ columns: [{ name: "a", type: 8 }, "b", "c"], rows });
    expect(result).toEqual({
      columns: [
        { name: "a", type: 8 },
        { name: "b", type: 253 },
        { name: "c", type: 253 },
      ],
      rows: [
        ["1", undefined, "ä€😀"],
        ["18446744073709551615", "", long],
      ],
    });
  });

  it("reads a row that fills several packets of 16 MB", async () => {
    const size = 2 ** 24 + 1000;
    const row = rowPayload(["y".repeat(size)]);
    const parts = [row.subarray(0, 0xffffff), row.subarray(0xffffff)];
    const payloads = [Buffer.of(1), columnPayload({ name: "a" }), END, ...parts, END];
    const { result } = await queryWith({ payloads }, { maxResultBytes: 2 ** 25 });
    expect((result as MysqlResult).rows[0]![0]!.length).toBe(size);
  });

  it("gives the first of several results, and an empty one without columns", async () => {
    const more = Buffer.of(0xfe, 0, 0, 10, 0);
    const [first, second] = ["a", "b"].map((text) => [
      ...[Buffer.of(1), columnPayload({ name: text }), END, rowPayload([text])],
    ]);
    const { result } = await queryWith({ payloads: [...first!, more, ...second!, more, OK] });
    expect(result).toEqual({ columns: [{ name: "a", type: 253 }], rows: [["a"]] });
    expect((await queryWith({ payloads: [OK] })).result).toEqual({ columns: [], rows: [] });
  });

  it("stays open after an error that the server reports", async () => {
    const { result, connection } = await queryWith({ code: 1146, state: "42S02", error: "Table 'x' doesn't exist" });
    expect(result).toBe("Table 'x' doesn't exist (1146, 42S02)");
    expect(connection.isOpen).toBe(true);
  });

  it.each([
    ["a hash by mysql_native_password", { plugin: "mysql_native_password" }],
    ["a hash by caching_sha2_password", { plugin: "caching_sha2_password", isCached: true }],
    ["the password encrypted by the server's key", { plugin: "caching_sha2_password" }],
  ])("answers with %s", async (_, settings) => {
    const { open } = await serverWith({ payloads: [OK] }, { ...settings, password: "s3cret ä" });
    expect((await open({ password: "s3cret ä" })).isOpen).toBe(true);
    await expect(open({ password: "wrong" })).rejects.toThrow("Access denied for user (1045, 28000)");
  });

  it("sends the password itself only where it is allowed and nobody can read it", async () => {
    const { open } = await serverWith({ payloads: [OK] }, { plugin: "mysql_clear_password", password: "s3cret" });
    await expect(open({ password: "s3cret" })).rejects.toThrow("clear text");
    await expect(open({ password: "s3cret", allowsClearPassword: true })).rejects.toThrow("over TLS");
  });

  it("sends no hash that is not allowed", async () => {
    const { open } = await serverWith({ payloads: [OK] }, { password: "s3cret" });
    await expect(open({ password: "s3cret", allowsNativePassword: false })).rejects.toThrow(/forbids|Access denied/);
  });

  it("names a plugin that it does not support", async () => {
    const { open } = await serverWith({ payloads: [OK] }, { plugin: "client_ed25519" });
    await expect(open()).rejects.toThrow('the server requires "client_ed25519", which is not supported');
  });
});

describe("a connection to MySQL over TLS", () => {
  const tls = { cert: readFileSync(TLS_FILES.serverCert), key: readFileSync(TLS_FILES.serverKey) };
  const trusting = { rejectUnauthorized: true, ca: readFileSync(TLS_FILES.ca), servername: "localhost" };

  it("asks for TLS before it says who it is, and may send the password then", async () => {
    const settings = { tls, plugin: "mysql_clear_password", password: "s3cret" };
    const { server, open } = await serverWith({ columns: ["a"], rows: [["b"]] }, settings);
    const connection = await open({ tls: trusting, password: "s3cret", allowsClearPassword: true, database: "shop" });
    expect((await connection.query("SELECT 1", patient())).rows).toEqual([["b"]]);
    expect(server.wasSecure).toBe(true);
  });

  it("does not trust a server whose certificate it cannot check", async () => {
    const { open } = await serverWith({ payloads: [OK] }, { tls });
    const other = { ...trusting, ca: readFileSync(TLS_FILES.otherCa) };
    await expect(open({ tls: other })).rejects.toThrow(/certificate/);
    await expect(open({ tls: { ...trusting, servername: "elsewhere" } })).rejects.toThrow(/altnames|certificate/);
  });

  it("does not go on in plain text if the server offers no TLS, unless that is allowed", async () => {
    const { server, open } = await serverWith({ payloads: [OK] });
    await expect(open({ tls: trusting })).rejects.toThrow("the server offers no TLS");
    expect((await open({ tls: trusting, isTlsOptional: true })).isOpen).toBe(true);
    expect(server.wasSecure).toBe(false);
  });
});

describe("a connection to a hostile server", () => {
  it.each<[string, Partial<ProtocolServerSettings>]>([
    ["does not speak MySQL's protocol", { greeting: Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n".repeat(9_000)) }],
    ["more than 65536 bytes", { greeting: Buffer.of(0xff, 0xff, 0xff, 0, 10) }],
    ["out of order", { greeting: Buffer.of(1, 0, 0, 7, 10) }],
    ["malformed packet", { greeting: Buffer.of(2, 0, 0, 0, 10, 0x38) }],
    ["does not speak MySQL's protocol", { greeting: Buffer.of(1, 0, 0, 0, 9) }],
    [
      "Host is blocked (1129)",
      { greeting: Buffer.concat([Buffer.of(18, 0, 0, 0, 0xff, 0x69, 4), Buffer.from("Host is blocked")]) },
    ],
  ])("refuses a greeting: %s", async (reason, settings) => {
    const { open } = await serverWith(undefined, settings);
    await expect(open()).rejects.toThrow(new RegExp(`${reason.replace(/[()]/g, "\\$&")}|more than 65536 bytes`));
  });

  const column = columnPayload({ name: "a" });
  it.each<[string, StatementAnswer]>([
    ["asked for a local file", { payloads: [Buffer.from("\xfb/etc/passwd", "latin1")] }],
    ["malformed packet", { payloads: [lengthOf(5000)] }],
    ["malformed packet", { payloads: [lengthOf(2 ** 40)] }],
    ["malformed packet", { payloads: [Buffer.of(0xff - 1)] }],
    ["empty packet", { payloads: [Buffer.alloc(0)] }],
    ["malformed packet", { payloads: [Buffer.of(1), Buffer.from("no column")] }],
    ["malformed packet", { payloads: [Buffer.of(1), column, OK] }],
    ["malformed packet", { payloads: [Buffer.of(1), column, END, Buffer.of(200, 65)] }],
    ["malformed packet", { payloads: [Buffer.of(1), column, END, Buffer.of(1, 65, 66)] }],
    [
      "malformed packet",
      { payloads: [Buffer.of(1), column, END, Buffer.concat([lengthOf(2 ** 52), Buffer.alloc(9)])] },
    ],
    ["out of order", { bytes: Buffer.of(1, 0, 0, 9, 0) }],
    ["more than 1000 bytes", { bytes: Buffer.of(0xff, 0xff, 0xff, 1, 1) }],
    ["more than 1000 bytes", { columns: ["a"], rows: Array.from({ length: 200 }, () => ["0123456789"]) }],
  ])("closes the connection when an answer is malformed: %s", async (reason, answer) => {
    const { result, connection } = await queryWith(answer, { maxResultBytes: 1000 });
    expect(result).toContain(reason);
    expect(connection.isOpen).toBe(false);
    await expect(connection.query("SELECT 2", patient())).rejects.toThrow(reason);
  });

  it("closes the connection when a packet comes unexpected packet", async () => {
    const { connection } = await queryWith({ payloads: [OK, OK] });
    await expect.poll(() => connection.isOpen).toBe(false);
  });

  it("does not begin TLS behind bytes that anybody could have sent", async () => {
    const greeting = Buffer.concat([greetingBytes("mysql_native_password"), Buffer.of(7)]);
    const { open } = await serverWith(undefined, { greeting });
    await expect(open()).rejects.toThrow("unexpected packet");
  });

  it("ends authentication that goes on for ever", async () => {
    const server = createServer((socket) => {
      socket
        .on("error", () => {})
        .once("data", () => {
          for (let number = 2; number < 40; number++) socket.write(Buffer.of(2, 0, 0, number, 1, 3));
        });
      socket.write(greetingBytes("caching_sha2_password"));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { open } = await serverWith(undefined);
    const { port } = server.address() as AddressInfo;
    const opening = open({ address: { host: "127.0.0.1", port }, password: "x" });
    await expect(opening).rejects.toThrow("authentication does not end");
  });

  it("gives up an answer that does not come when it is aborted", async () => {
    const { open } = await serverWith(undefined);
    const connection = await open();
    const abort = new AbortController();
    const query = connection.query("SELECT SLEEP(1000)", abort.signal);
    abort.abort();
    await expect(query).rejects.toThrow("it took too long");
    expect(connection.isOpen).toBe(false);
  });

  it("fails when the server hangs up in the middle of a row", async () => {
    const { server, open } = await serverWith({ bytes: Buffer.of(1, 0, 0, 1, 1, 9, 0) });
    const connection = await open();
    const query = connection.query("SELECT 1", patient());
    await expect.poll(() => server.statements.length).toBe(1);
    server.close();
    await expect(query).rejects.toThrow(/closed the connection|ECONNRESET/);
  });
});

/** A greeting with all capabilities but TLS, and a nonce of zeros. */
function greetingBytes(plugin: string): Buffer {
  const fixed = Buffer.concat([Buffer.of(0xff, 0xf7, 45, 2, 0, 0xff, 0, 21), Buffer.alloc(10)]);
  const body = Buffer.concat([
    Buffer.from("\n8.0.0\0"),
    Buffer.alloc(13),
    fixed,
    Buffer.alloc(13),
    Buffer.from(`${plugin}\0`),
  ]);
  return Buffer.concat([Buffer.of(body.length, 0, 0, 0), body]);
}
