import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { layOut, NODE_HEIGHT } from "../../../../src/agent/cli/graph/layout.js";
import { sluice, temporary } from "../dlq/support.js";

const CONFIG = `
receivers: {otlp: {protocols: {http: }}}
processors: {batch: , pii: }
connectors: {forward: }
exporters: {"debug/<b>&\\"": , nop: }
service:
  pipelines:
    logs: {receivers: [otlp], processors: [pii, batch], exporters: [forward, nop]}
    logs/b: {receivers: [forward], exporters: ["debug/<b>&\\""]}
    traces: {receivers: [otlp], exporters: [nop]}
`;

async function graph(...args: string[]) {
  const file = join(await temporary(), "pipeline.yaml");
  writeFileSync(file, CONFIG);
  return sluice(["graph", "--config", file, ...args]);
}

describe("graph", () => {
  it("draws pipelines as a flowchart of Mermaid", async () => {
    const { code, out } = await graph();
    expect(code).toBe(0);
    expect(out).toBe(`flowchart LR
  n0(["otlp"])
  n3{{"forward"}}
  n4[("debug/#60;b#62;#38;#34;")]
  n5[("nop")]
  subgraph p0["logs"]
    n1["pii"]
    n2["batch"]
  end
  n0 -->|"logs"| n1
  n1 -->|"logs"| n2
  n2 -->|"logs"| n3
  n2 -->|"logs"| n5
  n3 -->|"logs/b"| n4
  n0 -->|"traces"| n5
`);
  });

  it("draws them as SVG, in which names are only names", async () => {
    const { code, out } = await graph("--format", "svg");
    expect([code, out]).toEqual([0, expect.stringMatching(/^<svg .*<\/svg>\n$/s)]);
    expect(out).toContain("debug/&#60;b&#62;&#38;&#34;</text>");
    expect(out).not.toContain("<b>");
    for (const name of ["otlp", "pii", "batch", "forward", "nop"]) expect(out).toContain(`>${name}</text>`);
  });

  it("says nodes and edges in JSON, and what is wrong with a config or a format", async () => {
    expect(JSON.parse((await graph("--json")).out)).toMatchObject({ nodes: { length: 6 }, edges: { length: 6 } });
    expect(await graph("--format", "png")).toMatchObject({ code: 2, err: expect.stringContaining("mermaid or svg") });
    expect(await sluice(["graph", "--config", "yaml:{}"])).toMatchObject({ code: 1, out: "" });
  });

  it.each(readdirSync("config").filter((file) => file.endsWith(".yaml")))(
    "puts no node of %s over another or over a line, and every one right of those that lead to it",
    async (file) => {
      const { out } = await sluice(["graph", "--config", join("config", file), "--json"], {
        env: { PII_KEY: "0123456789abcdef0123456789abcdef" },
      });
      const description = JSON.parse(out);
      const { nodes, edges, width, height } = layOut(description);
      const boxes = [...nodes.values()];
      for (const a of boxes) {
        expect(a.x + a.width).toBeLessThanOrEqual(width);
        expect(a.y + NODE_HEIGHT).toBeLessThanOrEqual(height);
        const isOver = (b: (typeof boxes)[number]) =>
          a !== b && a.x < b.x + b.width && b.x < a.x + a.width && Math.abs(a.y - b.y) < NODE_HEIGHT;
        expect(boxes.filter(isOver)).toEqual([]);
      }
      for (const { from, to, points } of edges) {
        const isOn = ({ node, x, y, width: wide }: (typeof boxes)[number], [px, py]: readonly [number, number]) =>
          node.id !== from && node.id !== to && px >= x && px <= x + wide && py >= y && py <= y + NODE_HEIGHT;
        expect(points.filter((point) => boxes.some((box) => isOn(box, point)))).toEqual([]);
        const [a, b] = [nodes.get(from)!, nodes.get(to)!];
        expect(a.x + a.width).toBeLessThan(b.x);
      }
    },
  );
});
