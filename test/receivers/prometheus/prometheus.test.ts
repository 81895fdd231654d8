import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Refusal } from "../../../src/plugin.js";
import { prometheusReceiver } from "../../../src/receivers/prometheus/component.js";
import { ScrapeSeries } from "../../../src/receivers/prometheus/series/scrape-series.js";
import { ACCEPTED } from "../../../src/runtime/contract/debt.js";
import { TestIntake } from "../../../src/testing.js";
import { until } from "../../support/until.js";
import { type Answer, type Scraping, startScraping, startTarget, valueIn, values } from "./harness.js";

const job = (address: string, more: object = {}) => ({
  job_name: "shop",
  static_configs: [{ targets: [address] }],
  ...more,
});

/** One scrape of this text, by a job with these keys. */
async function scrapeOnce(text: string | Answer, more: object = {}, rest: Parameters<typeof startScraping>[1] = {}) {
  const target = await startTarget(text);
  const scraping = await startScraping([job(target.address, more)], rest);
  await until(() => expect(valueIn(scraping.scrape(0), "scrape_series_added")).toBeDefined());
  return { ...scraping, target, points: scraping.scrape(0) };
}

const reports = (points: ReturnType<Scraping["points"]>) =>
  Object.fromEntries(
    points
      .filter(({ name }) => name === "up" || /^scrape_samples|_added$/.test(name))
      .map(({ name, value }) => [name, value]),
  );

describe("the prometheus receiver", () => {
  it("makes metrics of what a target shows, with the resource that it is", async () => {
    const text = `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{code="200"} 7
# TYPE temperature gauge
temperature -3.5
plain 1
# TYPE latency histogram
latency_bucket{le="0.1"} 1
latency_bucket{le="+Inf"} 3
latency_sum 4.5
latency_count 3
# TYPE size summary
size{quantile="0.5"} 10
size_sum 30
size_count 2
target_info{service_version="1.2"} 1
`;
    const { points, target } = await scrapeOnce(text);
    expect(values(points)).toMatchObject({ "requests_total{code=200}": 7, temperature: -3.5, plain: 1 });
    const named = (name: string) => points.find((point) => point.name === name)!;
    expect(named("requests_total").metric).toMatchObject({
      description: "Requests.",
      sum: { isMonotonic: true, aggregationTemporality: 2 },
    });
    expect(named("latency").data).toMatchObject({
      count: "3",
      sum: 4.5,
      bucketCounts: ["1", "2"],
      explicitBounds: [0.1],
    });
    expect(named("size").data).toMatchObject({ count: "2", sum: 30, quantileValues: [{ quantile: 0.5, value: 10 }] });
    expect(named("plain").resource).toEqual({
      "service.name": "shop",
      "service.instance.id": target.address,
      "server.port": target.address.split(":")[1],
      "url.scheme": "http",
      service_version: "1.2",
    });
    expect(reports(points)).toEqual({
      up: 1,
      scrape_samples_scraped: 11,
      scrape_samples_post_metric_relabeling: 11,
      scrape_series_added: 11,
    });
  });

  it("tells the end of a series that is not there any more, and of all when a scrape fails", async () => {
    const target = await startTarget('a{x="1"} 1\na{x="2"} 2\nold 1 1700000000000\n');
    const { points } = await startScraping([job(target.address)]);
    await until(() => expect(values(points())).toMatchObject({ "a{x=1}": 1, "a{x=2}": 2, old: 1 }));
    target.body = 'a{x="1"} 3\n';
    await until(() => expect(values(points())).toMatchObject({ "a{x=1}": 3, "a{x=2}": undefined }));
    // A sample with a time of its own ends when nothing follows it.
    expect(points().filter(({ name, isEnd }) => name === "old" && isEnd)).toEqual([]);
    target.body = "not an exposition\n";
    await until(() => expect(valueIn(points().slice(-5), "up")).toBe(0));
    expect(values(points())).toMatchObject({ "a{x=1}": undefined });
    expect(points().filter(({ name, isEnd }) => name === "a" && isEnd)).toHaveLength(2);
    target.body = 'a{x="1"} 4\n';
    await until(() => expect(values(points())).toMatchObject({ "a{x=1}": 4 }));
  });

  it("tells since when a counter counts: as the target says, else from the first point or the last reset on", async () => {
    const target = await startTarget("# TYPE c counter\nc 5\n");
    const { points } = await startScraping([job(target.address)]);
    const last = () => points().findLast(({ name }) => name === "c")!.data as Record<string, string>;
    await until(() => expect(points().filter(({ name }) => name === "c").length).toBeGreaterThan(1));
    const first = points().find(({ name }) => name === "c")!.data as Record<string, string>;
    expect(first["startTimeUnixNano"]).toBe(first["timeUnixNano"]);
    expect(last()["startTimeUnixNano"]).toBe(first["timeUnixNano"]);
    target.body = "# TYPE c counter\nc 1\n";
    await until(() => expect(Number(last()["startTimeUnixNano"])).toBeGreaterThan(Number(first["timeUnixNano"])));
    const open: Answer = (_, response) =>
      void response
        .setHeader("Content-Type", "application/openmetrics-text; version=1.0.0")
        .end("# TYPE c counter\nc_total 5\nc_created 1700000000.5\n# EOF\n");
    const { points: told } = await scrapeOnce(open);
    expect(told.find(({ name }) => name === "c_total")!.data).toMatchObject({
      startTimeUnixNano: "1700000000500000000",
    });
    expect(told.some(({ name }) => name.endsWith("_created"))).toBe(false);
  });

  it("reads exemplars of OpenMetrics", async () => {
    const trace = "0123456789abcdef0123456789abcdef";
    const text = `# TYPE h histogram\nh_bucket{le="1"} 1 # {trace_id="${trace}",user="u"} 0.5 1700000000.25\nh_bucket{le="+Inf"} 2\nh_count 2\nh_sum 3\n# TYPE c counter\nc_total 3 # {a="b"} 2\n# EOF\n`;
    const { points } = await scrapeOnce(
      (_, response) => void response.setHeader("Content-Type", "application/openmetrics-text").end(text),
    );
    expect(points.find(({ name }) => name === "h")!.data).toMatchObject({
      exemplars: [
        {
          asDouble: 0.5,
          traceId: trace,
          timeUnixNano: "1700000000250000000",
          filteredAttributes: [{ key: "user", value: { stringValue: "u" } }],
        },
      ],
    });
    expect(points.find(({ name }) => name === "c_total")!.data).toMatchObject({ exemplars: [{ asDouble: 2 }] });
  });

  it("puts the target's labels over the series' own, or honours those", async () => {
    const text = 'a{job="mine",instance="here",env="x"} 1\n';
    const labelled = { labels: { env: "prod", exported_env: "y" } };
    const own = await scrapeOnce(text);
    expect(values(own.points)).toEqual({ "a{env=x,exported_instance=here,exported_job=mine}": 1 });
    const target = await startTarget(text);
    const both = { job_name: "shop", static_configs: [{ targets: [target.address], ...labelled }] };
    const over = await startScraping([both]);
    await until(() =>
      expect(values(over.points())).toEqual({
        "a{env=prod,exported_env=y,exported_exported_env=x,exported_instance=here,exported_job=mine}": 1,
      }),
    );
    const honoured = await startScraping([{ ...both, honor_labels: true }], {
      global: { external_labels: { region: "eu" } },
    });
    await until(() => expect(values(honoured.points())).toEqual({ "a{env=x,exported_env=y,region=eu}": 1 }));
    const mine = honoured.points().find(({ name }) => name === "a")!;
    expect(mine.resource).toMatchObject({ "service.name": "mine", "service.instance.id": "here" });
  });

  it("relabels targets and series, and drops what the rules drop", async () => {
    const { points, target } = await scrapeOnce("keep_me 1\ndrop_me 2\nrename_me 3\n", {
      relabel_configs: [
        { source_labels: ["__address__"], regex: "(.*):(\\d+)", replacement: "$1", target_label: "host" },
        { source_labels: ["__address__"], target_label: "__param_target" },
        { target_label: "__metrics_path__", replacement: "/probe" },
      ],
      metric_relabel_configs: [
        { source_labels: ["__name__"], regex: "drop_.*", action: "drop" },
        { source_labels: ["__name__"], regex: "rename_(.*)", replacement: "renamed_$1", target_label: "__name__" },
      ],
    });
    expect(values(points)).toEqual({ "keep_me{host=127.0.0.1}": 1, "renamed_me{host=127.0.0.1}": 3 });
    expect(target.requests[0]!.url).toBe(`/probe?target=${encodeURIComponent(target.address)}`);
    expect(reports(points)).toMatchObject({ scrape_samples_scraped: 3, scrape_samples_post_metric_relabeling: 2 });
    const nothing = await scrapeOnce("a 1\nb 2\n", { metric_relabel_configs: [{ regex: ".*", action: "drop" }] });
    expect(reports(nothing.points)).toMatchObject({
      up: 1,
      scrape_samples_scraped: 2,
      scrape_samples_post_metric_relabeling: 0,
    });
    expect(values(nothing.points)).toEqual({});
  });

  it("does not scrape what the rules drop, and divides targets among shards", async () => {
    const target = await startTarget("a 1\n");
    const shard = (number: number) =>
      job(target.address, {
        job_name: `shard${number}`,
        relabel_configs: [
          { source_labels: ["__address__"], modulus: 2, target_label: "__tmp_hash", action: "hashmod" },
          { source_labels: ["__tmp_hash"], regex: String(number), action: "keep" },
        ],
      });
    const { points } = await startScraping([shard(0), shard(1)]);
    await until(() => expect(points().filter(({ name }) => name === "up").length).toBeGreaterThan(3));
    expect(new Set(points().map(({ resource }) => resource["service.name"])).size).toBe(1);
  });

  const FAILURES: Readonly<Record<string, { answer: string | Answer; more?: object; says: RegExp }>> = {
    "a status that is no success": {
      answer: (_, response) => void response.writeHead(503).end("no"),
      says: /HTTP 503/,
    },
    "an answer that never ends": {
      answer: (_, response) => void response.write("a 1\n"),
      more: { scrape_timeout: "80ms" },
      says: /scrape_timeout/,
    },
    "a target that does not answer": { answer: () => {}, more: { scrape_timeout: "80ms" }, says: /scrape_timeout/ },
    "an answer that breaks off": {
      answer: (_, response) => {
        response.writeHead(200, { "Content-Length": 100 });
        response.write("a 1\n", () => response.destroy());
      },
      says: /aborted|cut off|terminated/,
    },
    "an answer that is too long": {
      answer: "a 1\n".repeat(1000),
      more: { body_size_limit: "1KB" },
      says: /body_size_limit/,
    },
    "a bomb in gzip": {
      answer: (_, response) =>
        void response.setHeader("Content-Encoding", "gzip").end(gzipSync(Buffer.alloc(50_000_000, "a 1\n"))),
      more: { body_size_limit: "1MB" },
      says: /body_size_limit/,
    },
    "damaged gzip": {
      answer: (_, response) => void response.setHeader("Content-Encoding", "gzip").end("no gzip"),
      says: /incorrect header/,
    },
    "OpenMetrics without an end": {
      answer: (_, response) => void response.setHeader("Content-Type", "application/openmetrics-text").end("a 1\n"),
      says: /# EOF/,
    },
    "more samples than sample_limit": { answer: "a 1\nb 2\nc 3\n", more: { sample_limit: 2 }, says: /sample_limit/ },
    "more labels than label_limit": { answer: 'a{b="c",d="e"} 1\n', more: { label_limit: 4 }, says: /label_limit/ },
    "a label that is too long": {
      answer: `a{b="${"x".repeat(100)}"} 1\n`,
      more: { label_value_length_limit: 99 },
      says: /label_value_length_limit/,
    },
    "a name of a label that is too long": {
      answer: 'a{a_long_name="c"} 1\n',
      more: { label_name_length_limit: 10 },
      says: /label_name_length_limit/,
    },
    "a line that is too long": { answer: `a{b="${"x".repeat(2_000_000)}"} 1\n`, says: /longer than 1 MiB/ },
    "a redirect for ever": {
      answer: (_, response) => void response.writeHead(302, { Location: "/again" }).end(),
      says: /redirects/,
    },
    "more targets than target_limit": {
      answer: "a 1\n",
      more: { target_limit: 1, static_configs: [{ targets: ["127.0.0.1:1", "127.0.0.1:2"] }] },
      says: /target_limit/,
    },
    "a port that nobody listens on": {
      answer: "",
      more: { static_configs: [{ targets: ["127.0.0.1:1"] }] },
      says: /ECONNREFUSED/,
    },
  };

  for (const [what, { answer, more, says }] of Object.entries(FAILURES)) {
    it(`says that the target is down, and why, for ${what}`, async () => {
      const { points, said } = await scrapeOnce(answer, more);
      expect(valueIn(points, "up")).toBe(0);
      expect(values(points)).toEqual({});
      expect(said.join("\n")).toMatch(says);
    });
  }

  it.each([
    ["learns the series of a target that is late", "an answer that never ends", true],
    ["forgets those of an answer that is no good", "more samples than sample_limit", false],
  ])("%s", async (_, failure, isLate) => {
    const discard = vi.spyOn(ScrapeSeries.prototype, "discard");
    onTestFinished(() => discard.mockRestore());
    const { answer, more } = FAILURES[failure]!;
    await scrapeOnce(answer, more);
    expect(discard.mock.calls[0]).toEqual([isLate]);
  });

  it("keeps no more series than max_series, of all targets together, and takes others when some have gone", async () => {
    const small = await startTarget("a 1\n");
    const large = await startTarget("a 1\nb 2\nc 3\n");
    const jobs = [job(small.address, { job_name: "small" }), job(large.address, { job_name: "large" })];
    const { points, said } = await startScraping(jobs, { more: { max_series: 3 } });
    const up = (name: string) =>
      points().findLast((point) => point.name === "up" && point.resource["service.name"] === name)?.value;
    await until(() => expect([up("small"), up("large")].sort()).toEqual([0, 1]));
    expect(said.join()).toMatch(/max_series is 3/);
    large.body = "a 1\n";
    await until(() => expect([up("small"), up("large")]).toEqual([1, 1]));
  });

  it("counts a series that is there twice once", async () => {
    const { points, said } = await scrapeOnce('a{x="1"} 1\na{x="1"} 2\nb 1 1000\nb 2 2000\n');
    expect(points.filter(({ name }) => name === "a").map(({ value }) => value)).toEqual([1]);
    expect(points.filter(({ name }) => name === "b").map(({ value }) => value)).toEqual([1, 2]);
    expect(said.join()).toMatch(/more than once/);
  });

  it("reports an invalid histogram, and accepts the rest", async () => {
    const text =
      '# TYPE h histogram\nh_bucket{le="1"} 5\nh_bucket{le="+Inf"} 3\nh_sum 1\nh_count 3\n# TYPE g histogram\ng_sum 1\ng_count 2\ng 7\nrest 1\n';
    const { points, said } = await scrapeOnce(text);
    expect(points.map(({ name }) => name).filter((name) => !name.startsWith("scrape"))).toEqual([
      "g",
      "g",
      "rest",
      "up",
    ]);
    expect(said.join()).toMatch(/h: the counts of its buckets do not go up/);
  });

  it("scrapes a target again only when the pipeline has taken the scrape before, and loses none of it", async () => {
    const target = await startTarget("a 1\n");
    const intake = new TestIntake();
    intake.answer = () => ({ ok: false, refusal: new Refusal("transient", "not now") });
    const { points, said } = await startScraping([job(target.address)], { intake });
    await until(() => expect(intake.batches.length).toBeGreaterThan(60));
    expect(target.requests).toHaveLength(1);
    expect(new Set(intake.batches).size).toBe(1);
    intake.batches.length = 0;
    intake.answer = () => ACCEPTED;
    await until(() => expect(points().filter(({ name }) => name === "a").length).toBeGreaterThan(1));
    expect(target.requests.length).toBeGreaterThan(1);
    await until(() => expect(said.join()).toMatch(/scrapes were skipped/));
  });

  it("hands in permanently refused data as a dead letter", async () => {
    const setbacks: unknown[] = [];
    class KeepingIntake extends TestIntake {
      override async accept(batch: Parameters<TestIntake["accept"]>[0], _origin?: unknown, setback?: unknown) {
        if (setback === undefined) return { ok: false, refusal: new Refusal("permanent", "never") } as const;
        setbacks.push(setback);
        return super.accept(batch);
      }
    }
    const target = await startTarget("a 1\n");
    await startScraping([job(target.address)], { intake: new KeepingIntake() });
    await until(() => expect(setbacks[0]).toMatchObject({ reason: "rejected", message: "never" }));
  });

  it("cuts a large scrape into batches of bounded size", async () => {
    const lines = Array.from(
      { length: 40_000 },
      (_, i) => `metric_with_a_name{some_label="some value",number="${i}"} ${i}`,
    );
    const { intake, points } = await scrapeOnce(`${lines.join("\n")}\n`);
    expect(points).toHaveLength(40_005);
    expect(intake.batches.length).toBeGreaterThan(1);
    expect(Math.max(...intake.batches.map(({ byteLength }) => byteLength))).toBeLessThan(2.2 * 1024 * 1024);
    expect(points[39_999]).toMatchObject({ value: 39_999, labels: { number: "39999" } });
  });

  it("asks for names as they are, or escaped as the config says", async () => {
    const ask = async (more: object) => (await scrapeOnce("a 1\n", more)).target.requests[0]!.headers.accept;
    const formats = (escaping: string) =>
      `application/openmetrics-text;version=1.0.0;escaping=${escaping};q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,` +
      `text/plain;version=1.0.0;escaping=${escaping};q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2`;
    expect(await ask({})).toBe(formats("allow-utf-8"));
    expect(await ask({ metric_name_validation_scheme: "legacy" })).toBe(formats("underscores"));
    expect(await ask({ metric_name_escaping_scheme: "dots" })).toBe(formats("dots"));
  });

  it("asks with credentials from the config and from files, parameters, gzip and headers", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sluice-scrape-"));
    await writeFile(join(folder, "token"), "from-file\n");
    const ask = async (more: object) => (await scrapeOnce("a 1\n", more)).target.requests[0]!;
    const basic = await ask({
      basic_auth: { username: "me", password: "secret" },
      params: { module: ["x", "y"] },
      metrics_path: "/probe",
    });
    expect(basic.headers).toMatchObject({
      authorization: `Basic ${Buffer.from("me:secret").toString("base64")}`,
      "accept-encoding": "gzip",
      accept: expect.stringMatching(/^application\/openmetrics-text;version=1.0.0/),
      "x-prometheus-scrape-timeout-seconds": "60",
    });
    expect(basic.url).toBe("/probe?module=x&module=y");
    expect((await ask({ authorization: { credentials_file: join(folder, "token") } })).headers.authorization).toBe(
      "Bearer from-file",
    );
    const other = await ask({
      bearer_token: "t",
      enable_compression: false,
      http_headers: { "X-Org": { values: ["a"] } },
    });
    expect(other.headers).toMatchObject({ authorization: "Bearer t", "accept-encoding": "identity", "x-org": "a" });
  });

  it("does not hand credentials to a host that it is redirected to", async () => {
    const other = await startTarget("a 1\n");
    const redirect: Answer = (_, response) =>
      void response.writeHead(307, { Location: `http://${other.address}/metrics` }).end();
    const { points, target } = await scrapeOnce(redirect, { bearer_token: "t" });
    expect(valueIn(points, "up")).toBe(1);
    expect(target.requests[0]!.headers.authorization).toBe("Bearer t");
    expect(other.requests[0]!.headers.authorization).toBeUndefined();
  });

  it("asks again on a new connection when the one it kept was closed", async () => {
    let requests = 0;
    const closing: Answer = (request, response) => {
      // Every second request on a connection finds it closed, without an answer.
      if (++requests % 2 === 0) request.socket.destroy();
      else response.end("a 1\n");
    };
    const target = await startTarget(closing);
    const { points } = await startScraping([job(target.address)]);
    await until(() => expect(points().filter(({ name }) => name === "up").length).toBeGreaterThan(4));
    expect(points().filter(({ name, value }) => name === "up" && value !== 1)).toEqual([]);
    expect(requests).toBeGreaterThan(5);
  });

  it("reads answers in gzip", async () => {
    const { points } = await scrapeOnce(
      (_, response) => void response.setHeader("Content-Encoding", "gzip").end(gzipSync("a 1\n")),
    );
    expect(values(points)).toEqual({ a: 1 });
  });

  it("hands in what it has before it stops, and is stopped in the middle of a scrape at once", async () => {
    const target = await startTarget(() => {});
    const { receiver } = await startScraping([job(target.address)]);
    await until(() => expect(target.requests).toHaveLength(1));
    await receiver.stop();
    const held = await startTarget("a 1\n");
    const intake = new TestIntake();
    let accept = () => {};
    intake.answer = () => new Promise((resolve) => (accept = () => resolve(ACCEPTED)));
    const { receiver: second } = await startScraping([job(held.address)], { intake });
    await until(() => expect(intake.batches).toHaveLength(1));
    let isStopped = false;
    const stopped = second.stop().then(() => (isStopped = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isStopped).toBe(false);
    accept();
    await stopped;
  });

  it("refuses configs that Prometheus would refuse, with the place", () => {
    const problems = (config: object) =>
      prometheusReceiver.schema
        .safeParse({ config })
        .error!.issues.map(({ path, message }) => `${path.join(".")}: ${message}`)
        .join("\n");
    const scrape = (more: object) => ({ scrape_configs: [{ job_name: "a", ...more }] });
    expect(problems({ scrape_configs: [{ job_name: "a" }, { job_name: "a" }] })).toMatch(
      /scrape_configs.1.job_name: there are two jobs called a/,
    );
    expect(problems(scrape({ scrape_interval: "5s", scrape_timeout: "10s" }))).toMatch(/scrape_timeout.*longer/);
    expect(problems(scrape({ static_configs: [{ targets: ["http://a/metrics"] }] }))).toMatch(
      /targets.0: expected host:port/,
    );
    expect(problems(scrape({ relabel_configs: [{ regex: "(", target_label: "a" }] }))).toMatch(/regex/);
    expect(problems(scrape({ relabel_configs: [{ action: "hashmod" }] }))).toMatch(/needs a target_label/);
    expect(problems(scrape({ ec2_sd_configs: [{}] }))).toMatch(/not built in/);
    expect(problems({ rule_files: ["a"] })).toMatch(/only scrapes/);
  });
});
