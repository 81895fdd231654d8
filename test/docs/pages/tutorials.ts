import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { postgresProgram, startPostgres } from "../../support/servers/postgres.js";
import { tutorial } from "../tutorial.js";

export const gateway = tutorial({ ports: [4318, 9000] });

/** The output of Collector 0.159 for the page's traffic. With OTELCOL=path/to/otelcol that Collector runs. */
const RECORDED =
  '{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeLogs":[{"scope":{"name":"shop.http"},"logRecords":[' +
  '{"timeUnixNano":"1790000000000000001","severityNumber":9,"body":{"stringValue":"GET /orders"},"attributes":[{"key":"http.route","value":{"stringValue":"/orders"}},{"key":"deployment.environment","value":{"stringValue":"production"}}]},' +
  '{"timeUnixNano":"1790000000000000003","severityNumber":5,"body":{"stringValue":"cache miss"},"attributes":[{"key":"http.route","value":{"stringValue":"/orders"}},{"key":"deployment.environment","value":{"stringValue":"production"}}]},' +
  '{"timeUnixNano":"1790000000000000004","severityNumber":17,"body":{"stringValue":"payment failed"},"attributes":[{"key":"http.route","value":{"stringValue":"/pay"}},{"key":"amount","value":{"doubleValue":19.9}},{"key":"deployment.environment","value":{"stringValue":"production"}}]}]}]}]}\n';

const collector = process.env["OTELCOL"] === undefined ? { instead: recordedCollector() } : {};

export const fromTheCollector = tutorial({ ports: [4318, 4319, 9000], ...collector });

/** The Collector's answers, as they were recorded, for as long as the reader runs it. */
function recordedCollector(): (command: string, folder: string) => boolean {
  let isRunning = false;
  return (command, folder) => {
    if (command.includes(" otelcol ")) {
      writeFileSync(join(folder, "collector-out.json"), RECORDED);
      isRunning = true;
      return true;
    }
    const isForIt = isRunning && command.startsWith("curl");
    isRunning &&= !command.includes("sluice run");
    return isForIt;
  };
}

export const orderService = tutorial({
  ports: [],
  isPossible: postgresProgram !== undefined,
  before: async () => {
    const postgres = await startPostgres();
    onTestFinished(() => postgres.close());
    const { username, database } = postgres.keys;
    return { PGHOST: "127.0.0.1", PGPORT: String(postgres.port), PGUSER: username, PGDATABASE: database };
  },
});
