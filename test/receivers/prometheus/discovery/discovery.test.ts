import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { DnsDiscovery } from "../../../../src/receivers/prometheus/discovery/dns.js";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { startDnsServer } from "../../../support/servers/dns.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { until } from "../../../support/until.js";
import { type Point, startScraping, startTarget } from "../harness.js";

/** The last `up` of each target, by the labels that `pick` names. */
function ups(points: readonly Point[], label: string): Record<string, number | undefined> {
  const reports = points.filter(({ name }) => name === "up");
  return Object.fromEntries(
    reports.map(({ labels, value, isEnd }) => [labels[label] ?? "", isEnd ? undefined : value]),
  );
}

describe("discovery of targets", () => {
  it("follows files: new ones, changed ones, broken ones and those that go", async () => {
    const folder = await temporaryFolder();
    const [one, two] = [await startTarget("a 1\n"), await startTarget("a 2\n")];
    const write = (name: string, value: unknown) =>
      writeFile(join(folder, name), typeof value === "string" ? value : JSON.stringify(value));
    await write("one.json", [{ targets: [one.address], labels: { who: "one" } }]);
    const job = {
      job_name: "files",
      file_sd_configs: [{ files: [`${folder}/*.json`, `${folder}/two.yml`] }],
      relabel_configs: [{ source_labels: ["__meta_filepath"], regex: ".*/(.*)", target_label: "file" }],
    };
    const { points, said } = await startScraping([job]);
    await until(() => expect(ups(points(), "who")).toEqual({ one: 1 }));
    expect(points()[0]!.labels).toMatchObject({ file: "one.json" });
    await write("two.yml", `- targets: ["${two.address}"]\n  labels: {who: two, zone: 1}\n`);
    await until(() => expect(ups(points(), "who")).toEqual({ one: 1, two: 1 }));
    await write("one.json", "[broken");
    await until(() => expect(said.join()).toMatch(/target discovery failed/));
    const { length } = one.requests;
    await until(() => expect(one.requests.length).toBeGreaterThan(length + 1));
    await rm(join(folder, "one.json"));
    await until(() => expect(ups(points(), "who")).toEqual({ one: undefined, two: 1 }));
    const ends = points().filter(({ labels, isEnd }) => labels["who"] === "one" && isEnd);
    expect(ends.map(({ name }) => name)).toEqual(expect.arrayContaining(["a", "up", "scrape_duration_seconds"]));
  });

  it("asks a server, and keeps what it said last while it fails", async () => {
    const target = await startTarget("a 1\n");
    let answer: [number, string] = [200, JSON.stringify([{ targets: [target.address], labels: { who: "http" } }])];
    const server = await startTarget((_, response) => void response.writeHead(answer[0]).end(answer[1]));
    const { points, said } = await startScraping([
      {
        job_name: "web",
        http_sd_configs: [{ url: `http://${server.address}/targets`, bearer_token: "t", refresh_interval: "50s" }],
      },
    ]);
    await until(() => expect(ups(points(), "who")).toEqual({ http: 1 }));
    expect(server.requests[0]!.headers).toMatchObject({
      authorization: "Bearer t",
      "x-prometheus-refresh-interval-seconds": "50",
    });
    answer = [500, "no"];
    await until(() => expect(said.join()).toMatch(/HTTP 500/));
    for (const broken of ["[", '{"targets":[]}', '[{"targets":"a"}]']) {
      answer = [200, broken];
      const { length } = server.requests;
      await until(() => expect(server.requests.length).toBeGreaterThan(length + 1));
    }
    expect(ups(points(), "who")).toEqual({ http: 1 });
    answer = [200, "[]"];
    await until(() => expect(ups(points(), "who")).toEqual({ http: undefined }));
  });

  it("resolves names, and keeps what they were while no server answers", async () => {
    const server = await startDnsServer();
    onTestFinished(() => server.close());
    server.names.set("shop.test", ["10.0.0.1", "10.0.0.2"]);
    const errors: string[] = [];
    const clock = { ...systemClock, after: (ms: number, run: () => void) => systemClock.after(ms / 1000, run) };
    const services = { clock, random: () => 1, onError: (where: string) => void errors.push(where) };
    const found: string[][] = [];
    const discovery = new DnsDiscovery(["shop.test", "none.test"], "A", 9100, 30_000, services, [server.address]);
    discovery.start(
      (targets) =>
        void found.push(targets.map((labels) => `${labels.get("__address__")} ${labels.get("__meta_dns_name")}`)),
    );
    onTestFinished(() => discovery.stop());
    await until(() => expect(found).toEqual([["10.0.0.1:9100 shop.test", "10.0.0.2:9100 shop.test"]]));
    expect(errors).toContain("none.test");
    server.fault = "servfail";
    await until(() => expect(errors).toContain("shop.test"));
    server.fault = "none";
    server.names.set("shop.test", ["10.0.0.3"]);
    await until(() => expect(found.at(-1)).toEqual(["10.0.0.3:9100 shop.test"]));
    expect(found).toHaveLength(2);
  });
});
