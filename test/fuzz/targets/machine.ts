import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { hostMetricsSchema } from "../../../src/receivers/host-metrics/config.js";
import {
  diskScraper,
  filesystemScraper,
  MountUsage,
  networkScraper,
} from "../../../src/receivers/host-metrics/device-scrapers.js";
import { HostFiles } from "../../../src/receivers/host-metrics/host-files.js";
import { HOST_METRICS, SCRAPER_NAMES } from "../../../src/receivers/host-metrics/metrics.js";
import { processScraper } from "../../../src/receivers/host-metrics/process-scraper.js";
import * as system from "../../../src/receivers/host-metrics/system-scrapers.js";
import { certificateAttributes } from "../../../src/receivers/http-check/certificate.js";
import { HTTP_CHECK_METRICS } from "../../../src/receivers/http-check/config.js";
import { AnswerBody, compileValidations } from "../../../src/receivers/http-check/validations.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import {
  batchOfPoints,
  MetricOutput,
  PointCollector,
} from "../../../src/runtime/receiving/scraping/point-collector.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { assert, type FuzzTarget, magnitude } from "../fuzz.js";
import { holdToOtlp } from "../hold-to-otlp.js";
import { textMutator } from "../mutate-text.js";

const NOW = 1_700_000_000_000;
const PROC_FILES = [
  "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nbtime 1690000000\nprocesses 5\nprocs_running 2",
  "0.10 0.20 0.30 1/200 1234",
  "MemTotal: 100 kB\nMemFree: 10 kB\nBuffers: 1 kB\nCached: 5 kB\nSReclaimable: 2 kB\nMemAvailable: 50 kB",
  "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n   8       1 sda1 1 2 3 4 5 6 7 8 9 10 11",
  "nodev\tproc\n\text4\n/dev/sda1 / ext4 rw,relatime 0 0\ntmpfs /run/a\\040b tmpfs ro 0 0",
  "Inter-| Receive\n face |bytes\n  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
  "  sl  local_address\n   0: 0100007F:0016 00000000:0000 0A 00000000:00000000",
  "Filename Type Size Used Priority\n/dev/sdb partition 100 5 -2",
  "pswpin 1\npswpout 2\npgpgin 3\npgpgout 4\npgfault 9\npgmajfault 5",
  "1 (a (b) c) S 0 1 1 0 -1 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20",
  "Name:\ta\nUid:\t0\t0\nVmRSS:\t5 kB\nVmSize:\t9 kB\nThreads:\t3",
  "read_bytes: 5\nwrite_bytes: 6\n12345.67 99.9",
];

let root: string | undefined;

/** A machine whose every file in /proc is this text. */
class SameFiles extends HostFiles {
  text = "";

  override async read(): Promise<string> {
    return this.text;
  }

  override async readProcess(): Promise<string> {
    return this.text;
  }

  override async link(): Promise<string> {
    return this.text;
  }
}

const USAGE = { bsize: 4096, blocks: 100, bfree: 50, bavail: 40, files: 10, ffree: 5 };

function scrapersOf(files: SameFiles) {
  const enabled = (name: keyof typeof HOST_METRICS) =>
    Object.fromEntries(Object.keys(HOST_METRICS[name]).map((metric) => [metric, { enabled: true }]));
  const scrapers = Object.fromEntries(SCRAPER_NAMES.map((name) => [name, { metrics: enabled(name) }]));
  const configs = hostMetricsSchema.parse({ scrapers }).scrapers as Required<
    ReturnType<typeof hostMetricsSchema.parse>["scrapers"]
  >;
  const mounts = new MountUsage(systemClock, async () => USAGE as never);
  return {
    machine: [
      system.cpuScraper(files, configs.cpu),
      system.loadScraper(files, configs.load),
      system.memoryScraper(files, configs.memory),
      system.pagingScraper(files, configs.paging),
      system.processesScraper(files, configs.processes, async () => ["1"]),
      system.systemScraper(files, configs.system),
      diskScraper(files, configs.disk),
      filesystemScraper(files, { ...configs.filesystem, include_virtual_filesystems: true }, mounts),
      networkScraper(files, configs.network),
    ],
    processes: processScraper(files, configs.process),
  };
}

/**
 * All readable values of the files become points. A scraper that cannot read them fails without affecting the others.
 */
async function runHost(input: Buffer): Promise<string> {
  if (root === undefined) {
    root = temporaryFolder();
    mkdirSync(join(root, "proc", "1"), { recursive: true });
  }
  const files = new SameFiles(root);
  const { machine, processes } = scrapersOf(files);
  files.text = input.toString("utf8");
  const points = new PointCollector(NOW - 1000);
  let failed = 0;
  for (const scraper of machine)
    await scraper(points).catch((error: unknown) => {
      assert(error instanceof Error, `threw ${error}`);
      failed += 1;
    });
  const batch = batchOfPoints([points, ...(await processes(NOW - 5000, NOW))], NOW);
  holdToOtlp(batch);
  return `${magnitude(batch.count)} points in ${magnitude(batch.byteLength)}, ${failed} failed`;
}

const VALIDATIONS = compileValidations([
  { contains: "ok", not_contains: "error" },
  { json_path: "status", equals: "up" },
  { json_path: "items.#", equals: "2" },
  { json_path: "items.0.name" },
  { max_size: 100, min_size: 3 },
  { regex: "^\\{.*(a|b)+c?\\}$" },
]);

const CERTIFICATE = [
  "CN=shop.example\nO=Shop\nO=Other\nC=DE",
  'DNS:a.example, IP Address:127.0.0.1, URI:"http://a\\u002cb", email:a@b.example',
];

const checks = new MetricOutput(HTTP_CHECK_METRICS, { "httpcheck.tls.cert_remaining": { enabled: true } });

/** The body of an answer, and the names in a certificate, which a server chooses too. */
function runCheck(input: Buffer): string {
  const body = new AnswerBody(input);
  const passed = VALIDATIONS.map(({ passes }) => (passes(body) ? 1 : 0)).join("");
  const { text } = body;
  const names = { issuer: text, subject: text, subjectAltName: text } as Parameters<typeof certificateAttributes>[0];
  const attributes = certificateAttributes(names);
  const points = new PointCollector(NOW);
  checks.add(points, "httpcheck.tls.cert_remaining", 1, attributes);
  holdToOtlp(batchOfPoints([points], NOW));
  return `${passed}, ${magnitude(attributes["http.tls.san"].length)} names`;
}

/** Facts that receivers learn about machines: from files of the kernel, and from answers to checks. */
export const machineTargets: readonly FuzzTarget[] = [
  {
    name: "files of /proc",
    share: 2,
    seeds: PROC_FILES.map((text) => Buffer.from(text)),
    mutate: textMutator(["cpu", "kB", ":", "(", ")", "\\040", "\t", " ", "NaN", "Infinity", "0x10", "btime 1"]),
    run: runHost,
  },
  {
    name: "answers to http_check",
    share: 2,
    seeds: ['{"status":"up","items":[{"name":"a"},2]}', "ok", ...CERTIFICATE].map((text) => Buffer.from(text)),
    mutate: textMutator([...'{}[]:,"=', "DNS:", "IP Address:", "CN=", "items", "status", "__proto__", '\\"']),
    run: runCheck,
  },
];
