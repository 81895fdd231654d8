import { describe, expect, it } from "vitest";
import { blameOf, FAILURE_KINDS } from "../../../src/runtime/contract/blame.js";
import { Refusal, toRefusal } from "../../../src/runtime/contract/errors/refusal.js";
import { refusalOfConnection, refusalOfGrpc, refusalOfHttp } from "../../../src/runtime/net/otlp/refusals.js";

const withCode = (code: string) => Object.assign(new Error(code), { code });
const ofStatus = (status: number) => blameOf(refusalOfHttp(status, "", undefined));

describe("whose failure a call is", () => {
  it("is the backend's when it could not be reached", () => {
    for (const code of [
      "ECONNREFUSED",
      "ECONNRESET",
      "EPIPE",
      "ENOTFOUND",
      "EAI_AGAIN",
      "ETIMEDOUT",
      "CERT_HAS_EXPIRED",
    ]) {
      expect([code, blameOf(refusalOfConnection("peer", withCode(code)))]).toEqual([code, "backend"]);
      expect([code, blameOf(toRefusal(withCode(code)))]).toEqual([code, "backend"]);
    }
    const fetchFailed = new TypeError("fetch failed", { cause: withCode("ECONNREFUSED") });
    expect(blameOf(toRefusal(fetchFailed))).toBe("backend");
    expect(blameOf(toRefusal(new AggregateError([withCode("ECONNREFUSED")])))).toBe("backend");
  });

  it("is the backend's when a disk or the machine has nothing left, whoever writes", () => {
    const ofDisk = ["ENOSPC", "EDQUOT", "EROFS", "EIO", "ENXIO", "ENODEV", "ESTALE"];
    for (const code of [...ofDisk, "EMFILE", "ENFILE", "ENOMEM", "ENOBUFS"]) {
      expect([code, blameOf(toRefusal(withCode(code)))]).toEqual([code, "backend"]);
      const wrapped = toRefusal(new Error("cannot append", { cause: withCode(code) }));
      expect([code, blameOf(wrapped)]).toEqual([code, "backend"]);
    }
  });

  it("is the backend's when it says that it takes nothing now", () => {
    expect([408, 429, 502, 503, 504, 507].map(ofStatus)).toEqual(Array(6).fill("backend"));
    expect(blameOf(refusalOfGrpc({ code: 14, message: "" }))).toBe("backend");
    expect(blameOf(refusalOfGrpc({ code: 8, message: "", retryAfterMs: 10 }))).toBe("backend");
    expect(blameOf(new Refusal("throttled", "wait", { retryAfterMs: 10 }))).toBe("backend");
  });

  it("is the entry's when it was answered, or somebody threw", () => {
    expect([500, 501, 505, 520, 599].map(ofStatus)).toEqual(Array(5).fill("entry"));
    expect(blameOf(refusalOfHttp(500, "", 1000))).toBe("entry");
    expect([10, 11, 15].map((code) => blameOf(refusalOfGrpc({ code, message: "" })))).toEqual(Array(3).fill("entry"));
    expect(blameOf(toRefusal(new Error("no such order")))).toBe("entry");
    expect(blameOf(toRefusal("a text"))).toBe("entry");
    expect(blameOf(refusalOfConnection("peer", new TypeError("Invalid header value")))).toBe("entry");
  });

  it("is the entry's when an error is thrown whose code only looks like a status or a number of a database", () => {
    for (const code of ["CANCELLED", "UNAVAILABLE", "BLOCKED", "DISCONNECTED", "40400", "42ABC", "UNABLE_TO_SHIP"])
      expect([code, blameOf(toRefusal(withCode(code)))]).toEqual([code, "entry"]);
    const isBackends = (status: string) => blameOf(new Refusal("transient", "no", { status }));
    expect(["CANCELLED", "BLOCKED", "40001"].map(isBackends)).toEqual(Array(3).fill("backend"));
    const ofPostgres = (code: string) => Object.assign(withCode(code), { severity: "ERROR" });
    expect(blameOf(toRefusal(ofPostgres("40001")))).toBe("backend");
    expect(blameOf(toRefusal(new Error("no", { cause: ofPostgres("57014") })))).toBe("timeout");
  });

  it("depends on others when there was no answer in time", () => {
    expect(blameOf(new Refusal("transient", "late", { code: "SLUICE_TIMEOUT" }))).toBe("timeout");
    expect(blameOf(refusalOfGrpc({ code: 4, message: "" }))).toBe("timeout");
    expect(blameOf(toRefusal(new DOMException("late", "TimeoutError")))).toBe("timeout");
  });

  it("is what the exporter says, if it says it", () => {
    expect(blameOf(refusalOfHttp(503, "", undefined))).toBe("backend");
    expect(blameOf(new Refusal("transient", "no", { status: "HTTP 503", blame: "entry" }))).toBe("entry");
    expect(blameOf(new Refusal("transient", "no", { blame: "backend" }))).toBe("backend");
    const odd = { blame: "the moon" } as unknown as { blame: "entry" };
    expect(blameOf(new Refusal("transient", "no", { status: "HTTP 503", ...odd }))).toBe("backend");
  });

  it("is decided by names that occur in one row only", () => {
    const all = FAILURE_KINDS.flatMap(({ names, statuses = [] }) => [...names, ...statuses]);
    const names = all.filter((name) => typeof name === "string");
    expect(new Set(names).size).toBe(names.length);
  });
});
