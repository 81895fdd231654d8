import { type LoadOptions, loadConfig } from "../../../src/runtime/config/load.js";
import type { Problem } from "../../../src/runtime/config/text/problem.js";
import { registry } from "./fakes.js";

/** Loads a text as c.yaml with the fake components. */
export function loadText(text: string, options: Partial<LoadOptions> = {}) {
  return loadConfig({ sources: [{ text, name: "c.yaml" }], registry, ...options });
}

/** `error unknown_key 4:7 receivers.otlp.endpont`: a problem without its words. */
export function brief({ severity, code, place, path }: Problem): string {
  return `${severity} ${code} ${place ? `${place.line}:${place.column}` : "-"} ${path}`.trimEnd();
}

export function problemsIn(text: string, options: Partial<LoadOptions> = {}): string[] {
  return loadText(text, options).problems.map(brief);
}

/** Leaves out problems about components that no pipeline names. */
export function withoutUnused(problems: readonly Problem[]): Problem[] {
  return problems.filter(({ code }) => code !== "unused_component");
}

/** A whole config around one exporter's settings, indented by four blanks. The exporter starts in line 4. */
export function withExporter(type: string, settings: string): string {
  return `receivers: {otlp: {protocols: {grpc: }}}
service: {pipelines: {logs: {receivers: [otlp], exporters: [${type}]}}}
exporters:
  ${type}:
${settings
  .split("\n")
  .map((line) => `    ${line}`)
  .join("\n")}
`;
}

export const GOOD = `receivers:
  otlp:
    protocols:
      grpc:
      http:
        endpoint: 0.0.0.0:4318
processors:
  batch:
exporters:
  debug:
service:
  pipelines:
    logs:
      receivers: [otlp]
      processors: [batch]
      exporters: [debug]
`;
