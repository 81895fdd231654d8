import { afterEach, describe, expect, it } from "vitest";
import { proxyFromEnvironment, useProxyEnvironment } from "../../../../src/runtime/net/proxy/proxy.js";

afterEach(() => useProxyEnvironment({}));

/** The host of the proxy that these variables give. */
function proxied(env: Record<string, string>, url: string): string | undefined {
  useProxyEnvironment(env);
  const { protocol, hostname, port } = new URL(url);
  const isSecure = protocol === "https:";
  return proxyFromEnvironment(isSecure, hostname.replace(/[[\]]/g, ""), Number(port || (isSecure ? 443 : 80)))?.host;
}

describe("a proxy of the environment", () => {
  it.each([
    [{ HTTP_PROXY: "http://p:3128" }, "http://example.com", "p"],
    [{ HTTP_PROXY: "http://p:3128" }, "https://example.com", undefined],
    [{ HTTPS_PROXY: "p:3128" }, "https://example.com", "p"],
    [{ https_proxy: "p" }, "https://example.com", "p"],
    [{ HTTPS_PROXY: "upper", https_proxy: "lower" }, "https://example.com", "upper"],
    [{ HTTP_PROXY: "p" }, "http://localhost:4318", undefined],
    [{ HTTP_PROXY: "p" }, "http://127.3.2.1:4318", undefined],
    [{ HTTP_PROXY: "p" }, "http://[::1]:4318", undefined],
    [{ HTTP_PROXY: "" }, "http://example.com", undefined],
  ])("with %j for %s is %s", (env, url, proxy) => {
    expect(proxied(env as Record<string, string>, url)).toBe(proxy);
  });

  it.each([
    ["*", "http://example.com", false],
    ["example.com", "http://example.com", false],
    ["example.com", "http://a.b.example.com", false],
    ["example.com", "http://notexample.com", true],
    [".example.com", "http://example.com", true],
    [".example.com", "http://a.example.com", false],
    ["*.example.com", "http://a.example.com", false],
    ["*.example.com", "http://example.com", true],
    ["EXAMPLE.com", "http://Example.COM", false],
    ["example.com:8080", "http://example.com:8080", false],
    ["example.com:8080", "http://example.com:80", true],
    ["10.0.0.0/8", "http://10.1.2.3", false],
    ["10.0.0.0/8", "http://11.1.2.3", true],
    ["10.0.0.0/8", "http://example.com", true],
    ["10.1.2.3", "http://10.1.2.3:99", false],
    ["10.1.2.3:98", "http://10.1.2.3:99", true],
    ["fd00::/8", "http://[fd00::1]", false],
    ["[fd00::1]:80", "http://[fd00::1]", false],
    ["a.test, ,b.test", "http://b.test", false],
    ["10.0.0.0/99", "http://10.1.2.3", true],
  ])("with NO_PROXY %s for %s is used: %s, by Go's rules", (rule, url, isUsed) => {
    expect(proxied({ HTTP_PROXY: "p", NO_PROXY: rule }, url) !== undefined).toBe(isUsed);
    expect(proxied({ http_proxy: "p", no_proxy: rule }, url) !== undefined).toBe(isUsed);
  });

  it("that cannot be used is reported at once", () => {
    expect(() => useProxyEnvironment({ HTTPS_PROXY: "socks5://p:1080" })).toThrow(/^HTTPS_PROXY: expected/);
  });
});
