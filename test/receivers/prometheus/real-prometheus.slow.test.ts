import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { remoteWriteExporter } from "../../../src/exporters/prometheus/remote-write/component.js";
import { ACCEPTED } from "../../../src/runtime/contract/debt.js";
import { TestIntake } from "../../../src/testing.js";
import { exporterContext, never } from "../../exporters/support.js";
import { hasPrometheus, TestPrometheus } from "../../support/servers/prometheus.js";
import { until } from "../../support/until.js";
import { startScraping, startTarget } from "./harness.js";
import { PROTOBUF } from "./metric-families.js";

/** Left out: a blank in front of a name, which Prometheus makes part of it, and a NUL, which it takes for the end. */
const TEXTS: readonly string[] = [
  "a 1\n",
  "a 1",
  "",
  "\n\n",
  "a  1  \n",
  "a\t1\n",
  "a{} 1\n",
  "a{}1\n",
  "a {} 1\n",
  'a{b="c"} 1\n',
  'a{b="c",} 1\n',
  'a{ b = "c" , d="e" } 1\n',
  'a{b="c"d="e"} 1\n',
  'a{b="c",,d="e"} 1\n',
  'a{,b="c"} 1\n',
  "a{b} 1\n",
  "a{b=c} 1\n",
  'a{b="c} 1\n',
  'a{b="c" 1\n',
  'a{b="\\n\\"\\\\\\x"} 1\n',
  'a{b="c",b="d"} 1\n',
  'a{="c"} 1\n',
  'a{1b="c"} 1\n',
  'a{b-c="d"} 1\n',
  "1a 1\n",
  "a-b 1\n",
  ":a 1\n",
  "a:b_C9 1\n",
  "a\n",
  "a \n",
  "a b\n",
  "a 1 2\n",
  "a 1 2 3\n",
  "a 1 -2\n",
  "a 1 2.5\n",
  "a 1e3\n",
  "a 1e\n",
  "a .5\n",
  "a 5.\n",
  "a +1\n",
  "a --1\n",
  "a 1_000\n",
  "a 0x10\n",
  "a NaN\nb nan\nc +Inf\nd -inf\ne Infinity\n",
  "a Nope\n",
  "a 1\r\n",
  "# HELP a\na 1\n",
  "# HELP a text \\n more\n# TYPE a counter\na 1\n",
  "# TYPE a nonsense\na 1\n",
  "# TYPE a counter counter\na 1\n",
  "# TYPE\na 1\n",
  "#TYPE a nonsense\na 1\n",
  "# any comment\n#\n# \na 1\n",
  "a 1\n# TYPE a counter\na 2\n",
  "a 1\na 1\n",
  "a 1\nb\n",
  "{} 1\n",
  'a{b="ü"} 1\n',
  "ü 1\n",
  "a 1 # {} 2\n",
];

const hasNodeExporter = spawnSync("prometheus-node-exporter", ["--version"]).error === undefined;
if (!hasNodeExporter)
  console.warn("skipped: this test needs prometheus-node-exporter (Debian: prometheus-node-exporter)");

/** A node exporter that runs until the test ends, and what it shows once. */
async function nodeExporterText(): Promise<string> {
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn("prometheus-node-exporter", [`--web.listen-address=${address}`], { stdio: "ignore" });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  let text = "";
  await until(async () => {
    text = await (await fetch(`http://${address}/metrics`)).text();
  });
  return text;
}

describe.skipIf(!hasPrometheus())("the prometheus receiver, beside the real Prometheus", () => {
  it("takes and refuses the same texts, and counts the same samples in them", async () => {
    const targets = await Promise.all(TEXTS.map((text) => startTarget(text)));
    const addresses = targets.map(({ address }) => address);
    const { points, receiver } = await startScraping([
      { job_name: "sluice", static_configs: [{ targets: addresses }] },
    ]);
    const reports = () => {
      const last = points().filter(({ name }) => name === "up" || name === "scrape_samples_scraped");
      return new Map(last.map(({ name, resource, value }) => [`${name} ${resource["service.instance.id"]}`, value]));
    };
    await until(() => expect(reports().size).toBe(2 * TEXTS.length));
    // The targets are in this process. Prometheus finds them idle when there are no other requests.
    await receiver.stop();
    const ownReports = reports();
    const ours = (name: string, address: string) => ownReports.get(`${name} ${address}`);
    const prometheus = await TestPrometheus.startScraping(2000, addresses);
    const theirs = async (name: string) => {
      const answer = Object.entries(await prometheus.query(name));
      return new Map(
        answer.map(([labels, value]) => [(JSON.parse(labels) as { instance: string }).instance, Number(value)]),
      );
    };
    const compare = (read: (address: string) => unknown) => TEXTS.map((text, i) => [text, read(addresses[i]!)]);
    // A busy machine does not always have the time that Prometheus gives a scrape: what it has taken once, it takes.
    await until(async () => {
      const up = await theirs("max_over_time(up[5m])");
      expect(compare((address) => ours("up", address))).toEqual(compare((address) => up.get(address)));
    });
    const scraped = await theirs("max_over_time(scrape_samples_scraped[5m])");
    const countOf = (address: string, count: number | undefined) => (ours("up", address) === 1 ? count : 0);
    expect(compare((address) => countOf(address, ours("scrape_samples_scraped", address)))).toEqual(
      compare((address) => countOf(address, scraped.get(address))),
    );
  });

  it("reads from Prometheus's own protobuf what it reads from its text", async () => {
    const { url } = await TestPrometheus.start([]);
    const { headers } = await fetch(`${url}/metrics`, { headers: { accept: PROTOBUF } });
    expect(headers.get("content-type")).toMatch(/protobuf/);
    const scrape = { static_configs: [{ targets: [new URL(url).host] }] };
    const { points } = await startScraping([
      { job_name: "text", ...scrape },
      { job_name: "proto", ...scrape, scrape_native_histograms: true },
    ]);
    const series = (job: string) => {
      const own = points().filter(({ resource, isEnd }) => resource["service.name"] === job && !isEnd);
      return [...new Set(own.map(({ name, kind, labels }) => `${kind} ${name} ${JSON.stringify(labels)}`))].sort();
    };
    await until(() => {
      const [text, proto] = [series("text"), series("proto")];
      expect(text.length).toBeGreaterThan(100);
      expect(proto).toEqual(text);
    });
  });

  it.skipIf(!hasNodeExporter)(
    "gives PromQL the same numbers by remote write as Prometheus got by scraping",
    async () => {
      const first = await TestPrometheus.start([]);
      const texts = [await nodeExporterText(), await (await fetch(`${first.url}/metrics`)).text()];
      const targets = await Promise.all(texts.map((text) => startTarget(text)));
      const addresses = targets.map(({ address }) => address);
      const prometheus = await TestPrometheus.startScraping(2000, addresses, "--web.enable-remote-write-receiver");
      const config = {
        endpoint: `${prometheus.url}/api/v1/write`,
        add_metric_suffixes: false,
        target_info: { enabled: false },
      };
      const exporter = remoteWriteExporter.create(remoteWriteExporter.schema.parse(config), exporterContext({}));
      await exporter.start!();
      onTestFinished(() => exporter.stop!());
      const intake = new TestIntake();
      intake.answer = async (batch) => {
        expect(await exporter.send(batch, never)).toBeUndefined();
        return ACCEPTED;
      };
      const job = { job_name: "sluice", honor_labels: true, static_configs: [{ targets: addresses }] };
      const { points } = await startScraping([job], { intake, global: { external_labels: { via: "us" } } });
      await until(() => expect(points().filter(({ name }) => name === "up").length).toBeGreaterThan(3));
      const series = async (selector: string) => {
        const found = Object.entries(await prometheus.query(selector)).map(([labels, value]) => {
          const { via: _, otel_scope_name: __, le, ...own } = JSON.parse(labels) as Record<string, string>;
          // Remote write has bounds without an exponent: the same number, in other words.
          const bound = le === undefined ? {} : { le: Number(le.replace("+Inf", "Infinity")) };
          return [JSON.stringify({ ...own, ...bound }), value] as const;
        });
        return new Map(found.filter(([labels]) => !labels.includes('"__name__":"scrape_')));
      };
      for (const address of addresses) {
        await until(async () => {
          const [ours, theirs] = [
            await series(`{via="us",instance="${address}"}`),
            await series(`{via="",instance="${address}"}`),
          ];
          expect(theirs.size).toBeGreaterThan(200);
          expect(Object.fromEntries(ours)).toEqual(Object.fromEntries(theirs));
        });
      }
    },
  );
});
