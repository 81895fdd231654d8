import { describe, expect, it } from "vitest";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { httpClientDefaults } from "../../../../src/runtime/net/http-client-keys.js";
import { clientSettings } from "../../../../src/runtime/net/sending/http-poster.js";

describe("the limits of an HTTP client's idle connections", () => {
  it.each([
    [{}, 100],
    [{ max_idle_conns: 0 }, Number.POSITIVE_INFINITY],
    [{ max_idle_conns: 7 }, 7],
    [{ max_idle_conns: 7, max_idle_conns_per_host: 3 }, 3],
    [{ max_idle_conns: 7, max_idle_conns_per_host: 30 }, 7],
    [{ max_idle_conns: 0, disable_keep_alives: true }, 0],
  ])("of %j are %d", (config, expected) => {
    expect(clientSettings({ ...httpClientDefaults(), ...config }, { clock: systemClock }).maxIdle).toBe(expected);
  });
});
