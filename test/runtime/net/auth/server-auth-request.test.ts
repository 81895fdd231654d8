import type { ServerHttp2Stream } from "node:http2";
import { describe, expect, it } from "vitest";
import { http2AuthRequest } from "../../../../src/runtime/net/auth/server-auth-request.js";
import { plainAddress } from "../../../../src/runtime/net/client-address.js";

const request = (...rawHeaders: string[]) => http2AuthRequest({} as ServerHttp2Stream, rawHeaders);

describe("the head of a request", () => {
  it("has each header once, in any case", () => {
    expect(request("Authorization", "a", "x-other", "b").header("authorization")).toBe("a");
    expect(request("x-other", "authorization").header("authorization")).toBeUndefined();
  });

  it("ignores a header that occurs twice, because it is ambiguous", () => {
    const twice = request("authorization", "a", "AUTHORIZATION", "a");
    expect(() => twice.header("authorization")).toThrow("more than once");
    expect(request("authorization", "a", "cookie", "b", "cookie", "c").header("authorization")).toBe("a");
  });

  it("has no certificate unless TLS has verified one", () => {
    expect(request().peerCertificate()).toBeUndefined();
  });
});

it("an IPv4 address is shown as IPv4 for every kind of socket", () => {
  expect(["::ffff:192.0.2.1", "192.0.2.1", "::1", undefined].map(plainAddress)).toEqual([
    "192.0.2.1",
    "192.0.2.1",
    "::1",
    undefined,
  ]);
});
