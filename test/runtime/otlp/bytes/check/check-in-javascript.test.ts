import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkInJavaScript } from "../../../../../src/runtime/otlp/bytes/check/check-in-javascript.js";
import { checkRequest } from "../../../../../src/runtime/otlp/bytes/check/check-request.js";
import { isMalformed } from "../../../../../src/runtime/otlp/signals/malformed.js";
import { SIGNALS } from "../../../../../src/runtime/otlp/signals/signal.js";
import { runs } from "../../../../support/runs.js";
import { referenceEncode } from "../../../../support/telemetry/otlp-reference.js";
import { request } from "../../../../support/telemetry/telemetry-arbitraries.js";

const checkInWebAssembly: typeof checkInJavaScript = (...request) => checkRequest(...request).records;

/** How many records, or what is wrong and where. */
function outcome(check: () => number): number | string {
  try {
    return check();
  } catch (error) {
    if (!isMalformed(error)) throw error;
    return error.message;
  }
}

describe.each(SIGNALS)("the check of %s without WebAssembly", (signal) => {
  it("answers like the one with it, for every valid and broken request", () => {
    const changes = fc.array(fc.tuple(fc.nat({ max: 5000 }), fc.nat({ max: 255 })), { maxLength: 3 });
    fc.assert(
      fc.property(request(signal), changes, fc.nat({ max: 5000 }), (tree, changed, cut) => {
        const bytes = referenceEncode(signal, tree);
        for (const [at, byte] of changed) if (bytes.length > 0) bytes[at % bytes.length] = byte;
        const middle = cut % (bytes.length + 1);
        const pieces = [bytes.subarray(0, middle), bytes.subarray(middle)];
        const expected = outcome(() => checkInWebAssembly(signal, pieces, bytes.length, 1_000_000));
        expect(outcome(() => checkInJavaScript(signal, pieces, bytes.length, 1_000_000))).toBe(expected);
      }),
      runs(400),
    );
  });

  it("refuses too many messages, counting an attribute with its value as one", () => {
    fc.assert(
      fc.property(request(signal), fc.nat({ max: 60 }), (tree, most) => {
        const bytes = referenceEncode(signal, tree);
        const isRefused = (check: typeof checkInJavaScript, limit: number) =>
          typeof outcome(() => check(signal, [bytes], bytes.length, limit)) === "string";
        if (isRefused(checkInJavaScript, most)) expect(isRefused(checkInWebAssembly, most)).toBe(true);
        if (isRefused(checkInWebAssembly, 2 * most)) expect(isRefused(checkInJavaScript, most)).toBe(true);
      }),
      runs(100),
    );
  });
});

/** A field of bytes inside the messages with these numbers. */
function nested(numbers: readonly number[], bytes: Uint8Array): Uint8Array {
  let message = bytes;
  for (const number of numbers.toReversed()) message = Uint8Array.from([(number << 3) | 2, message.length, ...message]);
  return message;
}

describe("an id", () => {
  it.each([
    ["logs", "trace id", 16, [1, 2, 2, 9]],
    ["logs", "span id", 8, [1, 2, 2, 10]],
    ["traces", "trace id", 16, [1, 2, 2, 1]],
    ["traces", "span id", 8, [1, 2, 2, 2]],
    ["traces", "span id", 8, [1, 2, 2, 4]],
    ["traces", "trace id", 16, [1, 2, 2, 13, 1]],
    ["traces", "span id", 8, [1, 2, 2, 13, 2]],
    ["metrics", "span id", 8, [1, 2, 2, 5, 1, 5, 4]],
    ["metrics", "trace id", 16, [1, 2, 2, 5, 1, 5, 5]],
  ] as const)(
    "of %s, a %s, has %i bytes or none (fields %j), with WebAssembly and without",
    (signal, what, size, at) => {
      for (let length = 0; length <= 33; length++) {
        const bytes = nested(at, new Uint8Array(length).fill(7));
        const outcomes = [checkInWebAssembly, checkInJavaScript].map((check) =>
          outcome(() => check(signal, [bytes], bytes.length, 1_000_000)),
        );
        const wrong = expect.stringContaining(`has an id of ${length} bytes; expected a ${what} of ${size} bytes`);
        const expected = length === 0 || length === size ? 1 : wrong;
        expect(outcomes).toEqual([expected, expected]);
      }
    },
  );
});

it.skipIf(process.platform === "win32")(
  "a process with few addresses checks what it is sent, too, and says that it is slow",
  () => {
    const script = `
    const { Batch } = await import("./dist/runtime/otlp/batch.js");
    const bytes = Uint8Array.from([0x0a, 6, 0x12, 4, 0x12, 2, 0x1a, 0]);
    console.log(Batch.admit("logs", bytes).count);
    try { Batch.admit("logs", bytes.subarray(0, 5)); } catch (error) { console.log(error.message); }
    try { new WebAssembly.Memory({ initial: 1 }); console.log("has memory"); } catch { console.log("has none"); }
  `;
    const { stdout, stderr } = spawnSync(
      "sh",
      ["-c", `ulimit -v 4000000; exec "$0" --input-type=module -e "$1"`, process.execPath, script],
      {
        encoding: "utf8",
      },
    );
    const [count, refusal, memory] = stdout.split("\n");
    expect([count, refusal]).toEqual(["1", "a field of LogsRequest goes past its end at byte 0"]);
    // Newer Node.js gives WebAssembly memory within such a limit, too.
    expect([memory, stderr.replace(/^\(node:\d+\) (.*?)\bWebAssembly[\s\S]*/, "$1")]).toBeOneOf([
      ["has memory", ""],
      ["has none", "SluiceWarning: OTLP requests are checked without "],
    ]);
  },
);
