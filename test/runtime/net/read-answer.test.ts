import { once } from "node:events";
import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseAnswer, readAnswer } from "../../../src/runtime/net/http-request.js";

/** Returns the beginning of a server's answer. */
async function answerOf(respond: (response: ServerResponse) => void): Promise<IncomingMessage> {
  const server = createServer((_, response) => respond(response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const request = get({ port: (server.address() as AddressInfo).port, agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  request.on("error", () => {});
  return response;
}

describe("an answer", () => {
  it("is read to its end from any pieces", async () => {
    const response = await answerOf((to) => {
      to.write("a");
      setImmediate(() => to.end("b"));
    });
    expect(String(await readAnswer(response, 2))).toBe("ab");
  });

  it("is JSON with no more objects and lists than allowed, and else an error", () => {
    const parse = (text: string, max?: number) => parseAnswer(Buffer.from(text), max);
    expect(parse('[{"a":[1,"ä"]}]', 3)).toEqual([{ a: [1, "ä"] }]);
    expect(() => parse('[{"a":[1,"ä"]}]', 2)).toThrow("more than 2 objects and lists");
    expect(parse(`[${"1,".repeat(1000)}1]`, 1)).toHaveLength(1001);
    expect(parse("[[[]]]")).toEqual([[[]]]);
    expect(() => parse("[")).toThrow(SyntaxError);
  });

  it("that does not end is not read on once it is too long, and the server is hung up on", async () => {
    let isClosed = (_: unknown) => {};
    const closed = new Promise((resolve) => {
      isClosed = resolve;
    });
    const response = await answerOf((to) => {
      to.on("close", isClosed);
      const go = () => {
        while (!to.destroyed && to.write(Buffer.alloc(65_536)));
      };
      to.on("drain", go);
      go();
    });
    await expect(readAnswer(response, 1_000_000)).rejects.toThrow("longer than 1000000 bytes");
    await closed;
  });

  it.each(["length", "chunked"])("that breaks off is not a response (%s)", async (how) => {
    const response = await answerOf((to) => {
      if (how === "length") to.setHeader("content-length", 100);
      to.write("a", () => to.destroy());
    });
    await expect(readAnswer(response, 1000)).rejects.toThrow(/aborted|was cut off/);
  });
});
