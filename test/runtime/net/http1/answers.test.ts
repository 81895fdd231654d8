import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { requestHead } from "../../../../src/runtime/net/http1/request-writer.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { until } from "../../../support/until.js";
import { BODY, clientOf, HEAD, OK, startRawServer } from "./raw-server.js";

/** Returns the result of a request with this answer, and whether the connection is kept. */
async function answeredWith(answer: string, method = "POST", end = false) {
  const server = await startRawServer((socket) =>
    end ? socket.end(answer, "latin1") : socket.write(answer, "latin1"),
  );
  const client = clientOf(server);
  const request = method === "POST" ? HEAD : requestHead(method, "/", { Host: "test" });
  const result = await client.request(request, BODY).then(
    ({ status, headers, body, bodyError }) => ({
      status,
      headers,
      body: body.toString(),
      isWhole: bodyError === undefined,
    }),
    (error: Error & { cause: NodeJS.ErrnoException }) => ({ error: error.cause.code, message: error.message }),
  );
  const closes = () =>
    expect.poll(() => server.sockets.size === 0 || [...server.sockets].every((s) => s.readableEnded)).toBe(true);
  const isKept = async () => {
    await client.request(request, BODY);
    return server.accepted === 1;
  };
  return { result, closes, isKept };
}

const head = (...lines: string[]) => ["HTTP/1.1 200 OK", ...lines, "", ""].join("\r\n");

describe("an answer that is as it should be", () => {
  it.each([
    ["has a length", `${head("Content-Length: 5")}hello`, 200, "hello"],
    ["has no body", head("Content-Length: 0"), 200, ""],
    ["says nothing of its reason", "HTTP/1.1 429\r\nContent-Length: 0\r\n\r\n", 429, ""],
    [
      "is chunked",
      `${head("Transfer-Encoding: chunked")}3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n`,
      200,
      "abc0123456789",
    ],
    [
      "has chunk extensions and trailers",
      `${head("Transfer-Encoding: Chunked")}3 ; a="b;c"\r\nabc\r\n0;x\r\nDigest: x\r\nA:\r\n\r\n`,
      200,
      "abc",
    ],
    [
      "comes after 1xx answers",
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${OK}`,
      200,
      "ok",
    ],
    ["is 204", "HTTP/1.1 204 No Content\r\n\r\n", 204, ""],
    ["is 304 with the length of what it stands for", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", 304, ""],
    ["has blanks around its values", `${head("Content-Length: \t2 \t")}ok`, 200, "ok"],
    ["is HTTP/1.0 and kept", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok", 200, "ok"],
  ])("%s: is read, and the connection kept", async (_, text, status, body) => {
    const { result, isKept } = await answeredWith(text);
    expect(result).toMatchObject({ status, body, isWhole: true });
    expect(await isKept()).toBe(true);
  });

  it("answers HEAD with a length and no body", async () => {
    const { result, isKept } = await answeredWith(head("Content-Length: 1000"), "HEAD");
    expect(result).toMatchObject({ status: 200, body: "" });
    expect(await isKept()).toBe(true);
  });

  it.each([
    ["says so", `${head("Content-Length: 2", "Connection: x, Close")}ok`],
    ["is of HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"],
    ["is followed by something", `${OK}HTTP/1.1 500 Surprise\r\nContent-Length: 0\r\n\r\n`],
    ["has a hint that it is not kept", `${head("Content-Length: 2", "Keep-Alive: timeout=0")}ok`],
  ])("%s: is read, and the connection closed", async (_, text) => {
    const { result, closes } = await answeredWith(text);
    expect(result).toMatchObject({ status: 200, body: "ok" });
    await closes();
  });

  it("has no length: is read until the connection ends", async () => {
    const { result, closes } = await answeredWith(`${head("X: y")}all of it`, "POST", true);
    expect(result).toMatchObject({ status: 200, body: "all of it" });
    await closes();
  });

  it.each(["Content-Length: 3", "Transfer-Encoding: chunked"])(
    "is 204 with %s: closes the connection",
    async (line) => {
      const { result, closes } = await answeredWith(`HTTP/1.1 204 No Content\r\n${line}\r\n\r\n`);
      expect(result).toMatchObject({ status: 204, body: "" });
      await closes();
    },
  );

  it("joins headers that repeat, and takes the first where there can be one", async () => {
    const { result } = await answeredWith(
      head("A: 1", "a: 2", "Content-Type: x", "content-type: y", "Content-Length: 0"),
    );
    const { headers } = result as Extract<typeof result, { status: number }>;
    expect([headers.get("a"), headers.get("content-type")]).toEqual(["1, 2", "x"]);
  });
});

describe("an answer that is not as it should be", () => {
  it.each([
    ["has two lengths", `${head("Content-Length: 2", "Content-Length: 2")}ok`],
    ["has lengths that differ", `${head("Content-Length: 2", "Content-Length: 3")}ok`],
    ["has a list of lengths", `${head("Content-Length: 2, 2")}ok`],
    ["has a length that is no number", `${head("Content-Length: 0x2")}ok`],
    ["has a negative length", `${head("Content-Length: -2")}ok`],
    ["has an empty length", `${head("Content-Length:")}ok`],
    ["is chunked and has a length", `${head("Transfer-Encoding: chunked", "Content-Length: 2")}2\r\nok\r\n0\r\n\r\n`],
    ["has another coding", `${head("Transfer-Encoding: gzip, chunked")}2\r\nok\r\n0\r\n\r\n`],
    ["is chunked twice", `${head("Transfer-Encoding: chunked", "Transfer-Encoding: chunked")}0\r\n\r\n`],
    ["is chunked in HTTP/1.0", `HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ["continues a line", head("A: b", " c", "Content-Length: 0")],
    ["has a blank before a colon", head("Content-Length : 0")],
    ["has a line without a colon", head("Content-Length")],
    ["has a header without a name", head(": 1")],
    ["has a bare LF", "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n"],
    ["ends its lines with LF", "HTTP/1.1 200 OK\nContent-Length: 0\n\n"],
    ["has a bare CR", head("A: b\rContent-Length: 0")],
    ["has a zero byte", head("A: b\0")],
    ["is HTTP/2", "HTTP/2 200\r\n\r\n"],
    ["is HTTP/1.2", "HTTP/1.2 200 OK\r\n\r\n"],
    ["has a strange status", "HTTP/1.1 99 OK\r\n\r\n"],
    ["has a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
    ["is another protocol's", "220 smtp ready\r\n"],
    ["begins with an empty line", `\r\n${OK}`],
    ["switches the protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"],
    ["has a head without end", `HTTP/1.1 200 OK\r\n${"A: b\r\n".repeat(20_000)}`],
    ["has 1xx answers without end", "HTTP/1.1 100 Continue\r\nA: b\r\n\r\n".repeat(5000)],
  ])("%s: is not a response, and its connection is closed", async (_, text) => {
    const { result, closes } = await answeredWith(text);
    expect(result).toMatchObject({ error: "EPROTO" });
    await closes();
  });

  it.each([
    ["is longer than allowed", head("Content-Length: 1001") + "x".repeat(1001)],
    [
      "is longer than allowed in chunks",
      `${head("Transfer-Encoding: chunked")}3e9\r\n${"x".repeat(1001)}\r\n0\r\n\r\n`,
    ],
    ["is longer than allowed, without a length", head() + "x".repeat(1001)],
    ["has a chunk size that is none", `${head("Transfer-Encoding: chunked")}x\r\n`],
    ["has a chunk size with a sign", `${head("Transfer-Encoding: chunked")}+2\r\nok\r\n0\r\n\r\n`],
    ["has a chunk size that is empty", `${head("Transfer-Encoding: chunked")}\r\nok\r\n0\r\n\r\n`],
    ["has a chunk size beyond all bounds", `${head("Transfer-Encoding: chunked")}fffffffff\r\nok\r\n`],
    ["has a chunk size with LF only", `${head("Transfer-Encoding: chunked")}22\nok\r\n0\r\n\r\n`],
    ["has a chunk size with blanks behind", `${head("Transfer-Encoding: chunked")}2 \r\nok\r\n0\r\n\r\n`],
    ["has a longer chunk than it says", `${head("Transfer-Encoding: chunked")}2\r\noko\r\n0\r\n\r\n`],
    ["has an endless chunk extension", `${head("Transfer-Encoding: chunked")}2;${"x".repeat(5000)}`],
    ["has a trailer that is none", `${head("Transfer-Encoding: chunked")}0\r\nno trailer\r\n\r\n`],
    ["has trailers without end", `${head("Transfer-Encoding: chunked")}0\r\n${"A: b\r\n".repeat(20_000)}`],
  ])("%s: counts by its status, and its connection is closed", async (_, text) => {
    const { result, closes } = await answeredWith(text);
    expect(result).toMatchObject({ status: 200, isWhole: false });
    await closes();
  });

  it.each([
    ["in its head", "HTTP/1.1 200 OK\r\nContent-", { error: "ECONNRESET", message: "socket hang up" }],
    ["before it began", "", { error: "ECONNRESET", message: "socket hang up" }],
    ["in its body", `${head("Content-Length: 5")}he`, { status: 200, body: "he", isWhole: false }],
    ["in a chunk", `${head("Transfer-Encoding: chunked")}5\r\nhe`, { status: 200, body: "he", isWhole: false }],
    [
      "before the last chunk",
      `${head("Transfer-Encoding: chunked")}2\r\nhe\r\n`,
      { status: 200, body: "he", isWhole: false },
    ],
  ])("breaks off %s: %o", async (_, text, expected) => {
    const { result, closes } = await answeredWith(text, "POST", true);
    expect(result).toMatchObject(expected);
    await closes();
  });

  it("stops in its body: counts by its status after a while", async () => {
    const clock = new FakeClock();
    let socket: Socket | undefined;
    const server = await startRawServer((incoming) => {
      socket = incoming;
      incoming.write(`${head("Content-Length: 5")}he`);
    });
    const answer = clientOf(server, { clock }).request(HEAD, BODY);
    await until(() => expect(clock.pending).toBe(1));
    clock.advance(10_000);
    expect(await answer).toMatchObject({ status: 200, body: Buffer.from("he"), bodyError: expect.any(Error) });
    await expect.poll(() => socket?.readableEnded).toBe(true);
    expect(clock.pending).toBe(0);
  });
});
