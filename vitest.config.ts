import { readdirSync, readFileSync } from "node:fs";
import { delimiter } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { CONDITION_LIMIT_MS, TEST_LIMIT_MS } from "./test/support/limits.js";
import { hasKafkaClient, kafkaClientModules } from "./test/support/servers/kafka-client.js";

/**
 * The npm script that runs this, if any. Scripts build first if the source has changed, and their tests import what was built,
 * which need not be translated a second time. `npx vitest run FILE` builds nothing and imports the source.
 */
const script = process.env["npm_lifecycle_event"];
const isScript = script !== undefined && script !== "npx";
const dist = fileURLToPath(new URL("dist/", import.meta.url));
const runtime = fileURLToPath(new URL("src/runtime/", import.meta.url));

/** The client of Kafka is no package of the project: tests and the agents they start look for it where it is. */
if (hasKafkaClient)
  process.env["NODE_PATH"] = [kafkaClientModules, process.env["NODE_PATH"]].filter(Boolean).join(delimiter);

/** What `npm test` leaves to `npm run test:extended`: it takes long, or needs a broker, a database or a browser. */
const EXTENDED = [
  "test/{acceptance,bench,chaos,differential,fuzz,packaging,security}/**/*.test.ts",
  "test/console/*.test.ts",
  "test/**/*.slow.test.ts",
  "test/**/{kafka,rabbitmq,nats,redis,postgres,aws-sqs}*/**/*.test.ts",
  "test/**/{kafka,rabbitmq,nats,redis,postgres,aws-sqs}*.test.ts",
];

/** What CI leaves to `npm run test:nightly`, because it takes minutes on its own. */
const NIGHTLY = [
  // The benchmarks themselves. The ledger, which CI runs, measures what records cost.
  "test/bench/{bench,components,corpus,soak,ledger-regress.slow}.test.ts",
  // All chaos but the heart of it: kills, slow and damaged disks, retries, reloads and one database.
  "test/chaos/{archive,mixed,preloaded,small-disk,workers}/**/*.test.ts",
  "test/chaos/{backlog,disk,intervals,operate,tail-sampling}.test.ts",
  "test/chaos/brokers/{kafka,nats,postgres-handler,postgres-mixed,rabbitmq,redis,sqs}.test.ts",
  "test/runtime/queue/{operate/worker-crashes,rehydrate/rehydration,store/level/full-disk}.slow.test.ts",
  "test/runtime/queue/send/backends/http-backends.slow.test.ts",
  "test/receivers/outbox/postgres-outbox-outcomes.test.ts",
  "test/runtime/host/reload/{adoption,retained-parts}.slow.test.ts",
  // More of what one file of CI shows: workers, TLS of brokers, and the pages of the console.
  "test/agent/cli/workers/{crash-loops,leaving-workers,queues-and-limits,sockets}.slow.test.ts",
  "test/runtime/brokers/**/{kafka,nats,postgres,rabbitmq,redis}-security.test.ts",
  "test/console/{accessibility,config-pages,cost,failures,many-failures,overview,rehydrate,safe-replay}.test.ts",
  // The tutorials, and what else runs from the text of a page. `npm test` loads the configs and checks the types of all pages.
  "test/docs/docs.slow.test.ts",
  // The tools of authors and operators, which start and end a process for each case.
  "test/agent/cli/dev/dev.slow.test.ts",
  "test/agent/rehearsal/**/*.slow.test.ts",
  "test/extensions/admin-api/insight/cut-rehearsal.slow.test.ts",
  "test/security/rehearsal.test.ts",
  // Builds and installations. CI installs the package once.
  "test/packaging/{deployment,scaffold,supply-chain}.test.ts",
  "test/mutants/mutants.slow.test.ts",
  // Inputs at the limits, the worst records for every component, and hostile inputs, of which `npm run fuzz` tries more.
  "test/**/{large-files,long-names,many-attributes}.slow.test.ts",
  "test/end-to-end/large-requests.slow.test.ts",
  "test/fuzz/decoders.test.ts",
  "test/security/{outside-text,record-size}.test.ts",
  "test/security/worst/**/*.test.ts",
];

/** The files of each npm script that does not name its own. */
const PARTS: Readonly<Record<string, { readonly include: string[]; readonly exclude?: string[] }>> = {
  test: { include: ["test/**/*.test.ts"], exclude: EXTENDED },
  "test:extended": { include: EXTENDED },
  "test:extended:short": { include: EXTENDED, exclude: NIGHTLY },
  "test:nightly": { include: NIGHTLY },
  "test:laws": { include: ["test/**/*.test.ts"], exclude: [...EXTENDED, ...filesWithoutLaws()] },
};

/**
 * The seed of all laws in this run: fast-check names it when one fails. Every run has another, unless the environment says
 * which.
 */
const lawSeed = process.env["FUZZ_SEED"] ?? String(Math.floor(Math.random() * 2 ** 31));

/** Small files whose tests take minutes. */
const LONG = /test\/(chaos\/brokers|chaos\/store-damage|bench\/soak|security\/worst|packaging\/supply-chain)/;

/**
 * Without times of an earlier run, vitest begins with the largest files, and would wait for the long ones at the end. Tests that
 * collect garbage to measure memory run while the heap of their worker is still small: later, a collection takes four times as
 * long.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rankOf = ({ moduleId }: TestSpecification) => (LONG.test(moduleId) ? 0 : measuresMemory(moduleId) ? 1 : 2);
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

function measuresMemory(file: string): boolean {
  return /\b(?:live-heap\.js|collectGarbage)\b/.test(readFileSync(file, "utf8"));
}

/** The doors of the rooms (`#net`), where tests import the source. */
const DOORS = [
  { find: /^#otlp\/((?:metric-)?tags)$/, replacement: `${runtime}otlp/bytes/$1.generated.ts` },
  { find: /^#([a-z/-]+)$/, replacement: `${runtime}$1/door.ts` },
];

export default defineConfig({
  resolve: { alias: isScript ? [{ find: /^(?:\.\.\/)+src\/(.+\.js)$/, replacement: `${dist}$1` }] : DOORS },
  test: {
    ...(PARTS[script ?? ""] ?? { include: ["test/**/*.test.ts"], exclude: [] }),
    globalSetup: isScript ? ["test/support/setup/build.ts"] : [],
    setupFiles: ["test/support/setup/laws.ts", "test/support/setup/bytes.ts"],
    env: { LAW_SEED: lawSeed },
    reporters: isScript ? ["default", "./test/support/setup/budgets.ts"] : ["default"],
    testTimeout: TEST_LIMIT_MS,
    hookTimeout: TEST_LIMIT_MS,
    teardownTimeout: TEST_LIMIT_MS,
    expect: { poll: { timeout: CONDITION_LIMIT_MS, interval: 10 } },
    pool: "forks",
    // Modules keep no state between tests, so the files that a worker runs share them: loading them took half of the time.
    isolate: false,
    // Most tests wait for sockets, disks and child processes, so three at a time pay also on two cores. With five, long tests of
    // builds and damaged queues run out of time.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    server: { deps: { external: [/\/dist\//] } },
  },
});

/** `npm test` has already tried them in full. */
function filesWithoutLaws(): string[] {
  if (script !== "test:laws") return [];
  const names = readdirSync(new URL("test/", import.meta.url), { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => name.endsWith(".test.ts")).map((name) => `test/${name}`);
  return files.filter((file) => !readFileSync(new URL(file, import.meta.url), "utf8").includes('from "fast-check"'));
}
