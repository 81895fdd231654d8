import { request } from "node:http";
import fc from "fast-check";
import { expect, it } from "vitest";
import { AnswerReader } from "../../../../src/runtime/net/http1/answer.js";
import { runs } from "../../../support/runs.js";
import { BODY, clientOf, HEAD, startRawServer } from "./raw-server.js";

const MAX_BODY = 400;
const token = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,8}$/).map((name) => `X-${name}`);
const value = fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/);
const fields = fc.array(fc.tuple(token, value), { maxLength: 4 });
const lines = (list: readonly (readonly [string, string])[]) =>
  list.map(([name, text]) => `${name}: ${text}\r\n`).join("");

const informational = fields.map((list) => `HTTP/1.1 103 Early Hints\r\n${lines(list)}\r\n`);
const bodyText = fc.uint8Array({ maxLength: MAX_BODY }).map((bytes) => Buffer.from(bytes).toString("latin1"));
const chunk = fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 80 }), fc.constantFrom("", ";a", ';name="v;a"'));
const chunked = fc.tuple(fc.array(chunk, { maxLength: 5 }), fields).map(([chunks, trailers]) => {
  const pieces = chunks.map(([bytes, extension]) => `${bytes.length.toString(16)}${extension}\r\n${latin1(bytes)}\r\n`);
  return `${pieces.join("")}0\r\n${lines(trailers)}\r\n`;
});
const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");

/** Answers that every reader of HTTP/1.1 must understand in the same way; the connection stays open after them. */
const wellFormed = fc
  .tuple(
    fc.array(informational, { maxLength: 2 }),
    fc.constantFrom(200, 202, 204, 304, 400, 429, 503),
    fields,
    bodyText,
    fc.option(chunked),
  )
  .map(([before, status, list, body, chunks]) => {
    const head = `HTTP/1.1 ${status} Words\r\n${lines(list)}Content-Type: text/plain\r\n`;
    if (status === 204 || status === 304) return `${before.join("")}${head}\r\n`;
    if (chunks !== null) return `${before.join("")}${head}Transfer-Encoding: chunked\r\n\r\n${chunks}`;
    return `${before.join("")}${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  });

/** The same with a few bytes changed, lost or put in: mostly no answers any more. */
const damaged = fc
  .tuple(
    wellFormed,
    fc.array(fc.tuple(fc.nat(), fc.nat(2), fc.constantFrom("\r", "\n", "\r\n", ":", " ", "0", "a", ";", "\0")), {
      maxLength: 3,
    }),
  )
  .map(([text, edits]) =>
    edits.reduce((all, [where, lost, put]) => {
      const at = where % (all.length + 1);
      return all.slice(0, at) + put + all.slice(at + lost);
    }, text),
  );

/** Reads an answer that comes in pieces of these sizes, and then in one. */
function readInPieces(bytes: Buffer, sizes: readonly number[]) {
  const reader = new AnswerReader(MAX_BODY);
  reader.expectAnswer("POST");
  const shared = Buffer.alloc(bytes.length);
  let at = 0;
  try {
    for (const size of [...sizes, bytes.length]) {
      if (reader.isComplete) break;
      const end = Math.min(bytes.length, at + size);
      if (end === at) continue;
      shared.fill(0);
      bytes.copy(shared, 0, at, end);
      at += reader.read(shared, end - at);
    }
  } catch {
    return { failed: true, status: reader.head?.status };
  }
  const { head, isComplete } = reader;
  return {
    status: head?.status,
    headers: head?.headers,
    isComplete,
    used: isComplete ? at : 0,
    body: isComplete ? reader.body() : "",
  };
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 60 });

it("a response means the same in any pieces, valid or damaged", () => {
  fc.assert(
    fc.property(
      fc.oneof(wellFormed, damaged),
      fc.constantFrom("", "HTTP/1.1 200 OK\r\n", "x"),
      sizes,
      (text, rest, cuts) => {
        const bytes = Buffer.from(text + rest, "latin1");
        expect(readInPieces(bytes, cuts)).toEqual(readInPieces(bytes, []));
      },
    ),
    runs(500),
  );
});

it("an answer is used up to its last byte and no further", () => {
  fc.assert(
    fc.property(wellFormed, sizes, (text, cuts) => {
      const result = readInPieces(Buffer.from(`${text}HTTP/1.1`, "latin1"), cuts);
      expect(result).toMatchObject({ isComplete: true, used: text.length });
    }),
    runs(200),
  );
});

it("a well-formed response is read as node:http reads it, in any pieces", async () => {
  let answer = "";
  let cuts: readonly number[] = [];
  const server = await startRawServer(async (socket) => {
    socket.setNoDelay(true);
    const bytes = Buffer.from(answer, "latin1");
    let at = 0;
    for (const size of [...cuts, bytes.length]) {
      if (at >= bytes.length) break;
      await new Promise((resolve) => socket.write(bytes.subarray(at, at + size), resolve));
      at += size;
    }
  });
  const client = clientOf(server, { maxAnswerBytes: 10_000 });
  const property = fc.asyncProperty(wellFormed, sizes, async (text, pieces) => {
    answer = text;
    cuts = pieces;
    const { status, headers, body } = await client.request(HEAD, BODY);
    const theirs = await answerOfNode(server.port);
    expect({ status, body: body.toString("latin1"), type: headers.get("content-type") }).toEqual(theirs.answer);
    for (const [name, value] of Object.entries(theirs.headers)) expect(headers.get(name)).toBe(value);
  });
  await fc.assert(property, runs(60));
});

function answerOfNode(port: number) {
  return new Promise<{ answer: object; headers: Record<string, string> }>((resolve, reject) => {
    const sent = request({ port, host: "127.0.0.1", method: "POST", agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const { statusCode, headers } = response;
        const body = Buffer.concat(chunks).toString("latin1");
        const own = Object.entries(headers).filter(([name]) => name.startsWith("x-"));
        resolve({
          answer: { status: statusCode, body, type: headers["content-type"] },
          headers: Object.fromEntries(own) as Record<string, string>,
        });
        sent.destroy();
      });
    });
    sent.on("error", reject);
    sent.setHeader("Content-Length", 0);
    sent.end();
  });
}
