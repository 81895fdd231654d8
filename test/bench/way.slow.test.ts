import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

interface Way {
  readonly files: readonly string[];
  readonly functions: number;
}

interface Ways {
  readonly warm: Way;
  readonly queue: Way;
  readonly reload: Way;
}

const project = join(import.meta.dirname, "../..");
const script = new URL("../../scripts/pages/way.js", import.meta.url).href;
const { withWays } = (await import(script)) as { withWays(page: string, ways: Ways): string };
const ways = JSON.parse(
  execFileSync(process.execPath, ["bench/way/run.js", "--json"], { cwd: project, encoding: "utf8" }),
) as Ways;

it("a warm request enters at most 30 files, and the same ones each time", () => {
  expect(ways.warm.files.length).toBeLessThanOrEqual(30);
  expect(ways.warm.files[0]).toBe("src/runtime/net/http-server.ts");
  expect(ways.warm.files).toContain("src/exporters/otlp-http/component.ts");
  expect(ways.warm.functions).toBeGreaterThan(ways.warm.files.length);
});

it("an entry passes the queue between the filter and the exporter", () => {
  const at = (file: string) => ways.queue.files.indexOf(`src/${file}.ts`);
  const way = ["processors/filter/component", "runtime/queue/queue-outlet", "exporters/otlp-http/component"].map(at);
  expect(way).not.toContain(-1);
  expect(way).toEqual([...way].sort((a, b) => a - b));
});

it("every file of a way exists and has a step in CONTRIBUTING.md (node scripts/pages/way.js)", () => {
  const files = Object.values(ways).flatMap((way: Way) => way.files);
  expect(files.filter((file) => !existsSync(join(project, file)))).toEqual([]);
  const page = readFileSync(join(project, "CONTRIBUTING.md"), "utf8");
  const counts = (text: string) => text.match(/\*\*A request\*\*.*|\*\*An entry\.\*\*.*|\*\*A reload\*\*.*/g);
  expect(counts(page)).toHaveLength(3);
  expect(counts(withWays(page, ways))?.[0]).toBe(counts(page)?.[0]);
});
