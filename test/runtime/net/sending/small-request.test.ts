import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { useProxyEnvironment } from "../../../../src/runtime/net/proxy/proxy.js";
import { sendSmallRequest } from "../../../../src/runtime/net/sending/small-request.js";
import { startSink } from "../../../exporters/harness.js";
import { startProxy } from "../proxy/connect-proxy.js";

describe("sendSmallRequest", () => {
  it("goes through the proxy of the environment, but not when it is for somebody on this machine", async () => {
    const [sink, proxy] = [await startSink(), await startProxy()];
    onTestFinished(() => sink.close());
    onTestFinished(() => proxy.close());
    useProxyEnvironment({ HTTP_PROXY: `http://user:pass@127.0.0.1:${proxy.port}` });
    onTestFinished(() => useProxyEnvironment({}));
    sink.respond = (response) => response.end('{"a":1}');
    // Loopback is never reached through a proxy; this address is loopback's, and does not look like it.
    const url = new URL(`http://0.0.0.0:${sink.port}/keys?x=1`);
    const request = {
      method: "GET",
      url,
      headers: { authorization: "pod" },
      timeoutMs: 5000,
      clock: systemClock,
    } as const;
    expect(await sendSmallRequest({ ...request, isDirect: true })).toMatchObject({ status: 200, json: { a: 1 } });
    expect(proxy.seen).toEqual([]);
    expect(await sendSmallRequest(request)).toMatchObject({ status: 200, json: { a: 1 } });
    expect(proxy.seen).toEqual([["GET", url.href, `Basic ${btoa("user:pass")}`]]);
    expect(sink.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ["/keys?x=1", "pod"],
      ["/keys?x=1", "pod"],
    ]);
  });

  it("treats invalid JSON as an empty object, and follows no redirect", async () => {
    const sink = await startSink();
    onTestFinished(() => sink.close());
    const url = new URL(`http://127.0.0.1:${sink.port}/`);
    const ask = () => sendSmallRequest({ method: "GET", url, headers: {}, timeoutMs: 5000, clock: systemClock });
    for (const body of ["", "null", "1", "<html>"]) {
      sink.respond = (response) => response.end(body);
      expect((await ask()).json).toEqual({});
    }
    sink.respond = (response) => response.writeHead(302, { location: "/elsewhere" }).end();
    expect((await ask()).status).toBe(302);
    expect(new Set(sink.requests.map(({ path }) => path))).toEqual(new Set(["/"]));
  });
});
