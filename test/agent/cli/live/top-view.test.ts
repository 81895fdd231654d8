import { describe, expect, it } from "vitest";
import { type TopPicture, topView } from "../../../../src/agent/cli/live/top-view.js";
import type { ExporterReading } from "../../../../src/runtime/contract/api/answers.js";

const at = "2026-01-31T08:00:30.000Z";

/** Pipelines from one receiver through a filter to one exporter each. */
function pictureOf(count: number, more: Partial<TopPicture> = {}): TopPicture {
  const numbers = Array.from({ length: count }, (_, i) => i);
  const node = (kind: "receiver" | "processor" | "exporter", id: string, name: string, pipelines: string[]) => {
    return { id, kind, name, type: name, pipelines, signals: ["logs" as const] };
  };
  const rates = { in: 12, out: 11.5, dropped: 0.5, refused: 0, failed: 0 };
  const reading: ExporterReading = {
    state: "UP",
    breaker: "closed",
    paused: false,
    queueEntries: 0,
    queueBytes: 0,
    queueAge: 0,
    deadLetters: 0,
  };
  const nodes = [
    node(
      "receiver",
      "receiver:otlp",
      "otlp",
      numbers.map((i) => `logs/${i}`),
    ),
    ...numbers.map((i) => node("processor", `processor:logs/${i}:filter`, "filter", [`logs/${i}`])),
    ...numbers.map((i) => node("exporter", `exporter:otlp_http/${i}`, `otlp_http/${i}`, [`logs/${i}`])),
  ];
  const edges = numbers.flatMap((i) => {
    const [pipeline, signal] = [`logs/${i}`, "logs" as const];
    return [
      { id: `in ${i}`, from: "receiver:otlp", to: `processor:logs/${i}:filter`, pipeline, signal },
      { id: `out ${i}`, from: `processor:logs/${i}:filter`, to: `exporter:otlp_http/${i}`, pipeline, signal },
    ];
  });
  return {
    agent: {
      name: "sluice",
      version: "0.1.0",
      state: "ready",
      startedAt: Date.parse("2026-01-31T08:00:00.000Z"),
      pipelines: numbers.map((i) => `logs/${i}`),
    },
    graph: { nodes, edges },
    origin: "http://127.0.0.1:55679",
    sample: {
      at,
      edges: Object.fromEntries(edges.map(({ id }) => [id, { perSecond: 12 }])),
      nodes: Object.fromEntries(nodes.map(({ id }) => [id, rates])),
      exporters: Object.fromEntries(numbers.map((i) => [`otlp_http/${i}`, reading])),
    },
    ...more,
  };
}

const SMALL = { columns: 80, rows: 24, colour: false };

describe("the picture of sluice top", () => {
  it("shows pipelines and exporters with their rates", () => {
    const lines = topView(pictureOf(1), { colour: false });
    expect(lines[0]).toMatch(/^sluice 0\.1\.0 at http:\/\/127\.0\.0\.1:55679: ready, up 30s, \d\d:\d\d:\d\d$/);
    expect(lines[1]).toBe("12/s in, 11.5/s sent, 0/s refused; 1 of 1 exporter UP, 0 dead letters");
    expect(lines.find((line) => line.startsWith("logs/0"))).toMatch(/^logs\/0 +12 +11\.5 +0\.5 +0 +0$/);
    expect(lines.at(-1)).toMatch(/^otlp_http\/0 +UP +closed +12 +11\.5 +0 +0 B +- +0$/);
  });

  it.each([1, 3, 8, 9, 40])("fits into 80x24 with %i pipelines and exporters", (count) => {
    const lines = topView(pictureOf(count), SMALL);
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(80);
    expect(lines.at(-1)).toBe("q quits");
    const named = (name: string) => lines.filter((line) => line.startsWith(name)).length;
    const missing = lines.flatMap((line) => /^… and (\d+) more$/.exec(line)?.[1] ?? []).map(Number);
    expect(named("logs/") + named("otlp_http/") + missing.reduce((sum, n) => sum + n, 0)).toBe(2 * count);
  });

  it("cuts what is wider than a narrow terminal", () => {
    const lines = topView(pictureOf(2), { columns: 40, rows: 20, colour: false });
    expect(Math.max(...lines.map((line) => [...line].length))).toBe(40);
    expect(lines.filter((line) => line.startsWith("otlp_"))[0]).toMatch(/…$/);
  });

  it("colours heads and states, and nothing without colours", () => {
    const picture = pictureOf(1);
    const down = { ...picture.sample!.exporters["otlp_http/0"]!, state: "DOWN" as const };
    const sample = { ...picture.sample!, exporters: { "otlp_http/0": down } };
    expect(topView({ ...picture, sample }, { ...SMALL, colour: true }).join("\n")).toContain("\u001b[31mDOWN\u001b[0m");
    expect(topView({ ...picture, sample }, SMALL).join("\n")).not.toContain("\u001b");
  });

  it("shows those that are not well first", () => {
    const picture = pictureOf(40);
    const ill: ExporterReading = {
      ...picture.sample!.exporters["otlp_http/39"]!,
      state: "DOWN",
      breaker: "half_open",
      deadLetters: 7,
    };
    const exporters = { ...picture.sample!.exporters, "otlp_http/39": ill };
    const lines = topView({ ...picture, sample: { ...picture.sample!, exporters } }, SMALL);
    expect(lines[lines.findIndex((line) => line.startsWith("EXPORTER")) + 1]).toMatch(
      /^otlp_http\/39 +DOWN +half open/,
    );
  });

  it("says that it waits, and what is wrong with the connection", () => {
    expect(topView(pictureOf(1, { sample: undefined }), SMALL)[1]).toBe("waiting for the first second");
    expect(topView(pictureOf(1, { connectionError: "ECONNREFUSED\u001b[2J; retrying" }), SMALL)[1]).toBe(
      "ECONNREFUSED\\u001b[2J; retrying",
    );
  });
});
