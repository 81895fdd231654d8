import { describe, expect, it } from "vitest";
import { NoAnswerError } from "../../../../src/runtime/net/connection-error.js";
import { resendIfStale } from "../../../../src/runtime/net/otlp/sending.js";

const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
const stale = new NoAnswerError(reset, true);
const read = (answer: string) => answer;
const failing = (errors: readonly unknown[]) => {
  const sends: boolean[] = [];
  const send = async (isResend: boolean) => {
    const error = errors[sends.push(isResend) - 1];
    if (error !== undefined) throw error;
    return "answered";
  };
  return { sends, send };
};

describe("sending on a connection that was kept", () => {
  it("sends once more, on a new one, when the server had closed it", async () => {
    const { sends, send } = failing([stale]);
    expect(await resendIfStale("peer", new AbortController().signal, send, read)).toBe("answered");
    expect(sends).toEqual([false, true]);
  });

  it("refuses, retryably, when the new one ends too", async () => {
    const { sends, send } = failing([stale, stale, undefined]);
    const refusal = { kind: "transient", status: "ECONNRESET", message: "peer: read ECONNRESET", cause: reset };
    await expect(resendIfStale("peer", new AbortController().signal, send, read)).rejects.toMatchObject(refusal);
    expect(sends).toEqual([false, true]);
  });

  it.each([
    ["one that had never worked", new NoAnswerError(reset, false)],
    ["any other error", reset],
  ])("does not send again after %s", async (_, error) => {
    const { sends, send } = failing([error]);
    await expect(resendIfStale("peer", new AbortController().signal, send, read)).rejects.toMatchObject({
      cause: reset,
    });
    expect(sends).toEqual([false]);
  });

  it("does not send again once it is aborted, nor at all when it was before", async () => {
    const { sends, send } = failing([stale]);
    const abort = new AbortController();
    const sent = resendIfStale("peer", abort.signal, send, read);
    abort.abort();
    await expect(sent).rejects.toMatchObject({ code: "SLUICE_ABORTED" });
    await expect(resendIfStale("peer", abort.signal, send, read)).rejects.toMatchObject({ code: "SLUICE_ABORTED" });
    expect(sends).toEqual([false]);
  });
});
