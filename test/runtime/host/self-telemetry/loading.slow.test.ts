import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

const dist = (path: string) => JSON.stringify(new URL(`../../../../dist/runtime/${path}`, import.meta.url).href);

/** Starts self-telemetry in a process of its own and says how many of OpenTelemetry's files that loaded. */
function loadedFiles(telemetry: object): number {
  const script = `
    const { createRequire } = await import("node:module");
    const { createSelfTelemetry } = await import(${dist("host/self-telemetry/self-telemetry.js")});
    const { serviceSchema } = await import(${dist("config/schema/service-schema.js")});
    const config = { service: serviceSchema.parse({ telemetry: ${JSON.stringify(telemetry)} }), placeOf: () => undefined };
    const self = createSelfTelemetry(config, { stderr: process.stderr, isTerminal: false });
    self.metrics.counter("x", { description: "x" }).add(1);
    await self.start();
    const files = Object.keys(createRequire(import.meta.url).cache);
    console.log(files.filter((file) => file.includes("@opentelemetry")).length);
    process.exit(0);`;
  return Number(
    execFileSync(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "ignore"] }),
  );
}

test("starts without loading OpenTelemetry when nothing is pushed", () => {
  expect(loadedFiles({ metrics: { level: "none" } })).toBe(0);
  expect(loadedFiles({ metrics: { address: "127.0.0.1:0" } })).toBe(0);
});

test("loads it for a target that is pushed to", () => {
  const exporter = { otlp: { endpoint: "http://127.0.0.1:9" } };
  expect(loadedFiles({ metrics: { readers: [{ periodic: { exporter } }] } })).toBeGreaterThan(10);
});
