// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the config language is written with ${}
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";
import { loadConfig } from "../../src/runtime/config/load.js";
import { Registry } from "../../src/runtime/config/resolve/registry.js";
import { builtins } from "../support/builtins.js";
import { project } from "./packed.js";

// helm-default.yaml is what the chart makes of its own values:
//   helm template sluice packaging/helm/sluice -n sluice --kube-version 1.30 > test/packaging/helm-default.yaml
// So that it says the same as the plain manifests is held here also where there is no helm.

const chart = join(project, "packaging/helm/sluice");
const read = (...path: string[]) => readFileSync(join(...path), "utf8");
// biome-ignore lint/suspicious/noExplicitAny: what is in a manifest has no type here
type Manifest = Record<string, any> & { kind: string; metadata: { name: string } };

const manifestsOf = (text: string) =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);

const hasHelm = spawnSync("helm", ["version"]).error === undefined;
if (!hasHelm) console.warn("skipped: the chart is rendered and linted where helm is on the PATH");

const values = parse(read(chart, "values.yaml"));
const golden = read(project, "test/packaging/helm-default.yaml");
const plain = ["agent.yaml", "gateway.yaml"].flatMap((name) =>
  manifestsOf(read(project, "packaging/kubernetes", name)),
);

/** Runs helm on the chart with these values; gives what it says. */
function helm(command: "lint" | "template", own: object = {}) {
  const folder = mkdtempSync(join(tmpdir(), "sluice-helm-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "values.yaml");
  writeFileSync(file, stringify(own));
  const args = command === "lint" ? ["lint", "--strict", chart] : ["template", "sluice", chart, "-n", "sluice"];
  const { status, stdout, stderr } = spawnSync("helm", [...args, "--kube-version", "1.30", "-f", file], {
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

function checkedConfig(text: string) {
  const sources = [{ text, name: "sluice.yaml" }];
  const { config, problems } = loadConfig({ sources, registry: new Registry(builtins), addDefaults: true });
  expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
  return config!;
}

/** The name that the plain manifests have for the same thing. */
const PLAIN_NAMES: Readonly<Record<string, string>> = {
  "StatefulSet/sluice-gateway": "StatefulSet/gateway",
  "PodDisruptionBudget/sluice-gateway": "PodDisruptionBudget/gateway",
  "HorizontalPodAutoscaler/sluice-gateway": "HorizontalPodAutoscaler/gateway",
  "Service/sluice-gateways": "Service/gateways",
};

const keyOf = ({ kind, metadata }: Manifest) => `${kind}/${metadata.name}`;

/** Without labels of a release, which the plain manifests have not, and with the names that those have. */
function asPlain(manifest: Manifest): unknown {
  const text = JSON.stringify(manifest, (key, value) => {
    if (/^(helm\.sh|checksum)\/|^app\.kubernetes\.io\/(instance|version|managed-by)$|^imagePullPolicy$/.test(key))
      return undefined;
    if (key === "sluice.yaml") return parse(value);
    // The number of gateways is left to the autoscaler, and what the chart knows of itself comes by variables.
    if (key === "replicas" || key === "env") return undefined;
    return value;
  });
  const renamed = text
    .replaceAll("${env:SLUICE_GATEWAYS:-sluice-gateways.sluice}", "gateways.sluice")
    .replaceAll('"sluice-gateways"', '"gateways"');
  const read = JSON.parse(renamed) as Manifest;
  const [, name] = (PLAIN_NAMES[keyOf(manifest)] ?? keyOf(manifest)).split("/");
  const { labels: _, ...metadata } = read.metadata as Record<string, unknown>;
  const target = read["spec"]?.scaleTargetRef;
  if (target !== undefined) target.name = "gateway";
  return withoutEmpty({ ...read, metadata: { ...metadata, name } });
}

/** A processor without keys is written in two ways. */
function withoutEmpty(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, each) => (key === "batch" ? {} : each)));
}

describe("the chart", () => {
  it("has configs without a mistake in its values", () => {
    for (const part of ["agent", "gateway"]) {
      const config = checkedConfig(stringify(values[part].config));
      expect(config.service.shutdown_timeout / 1000 + values[part].preStopSeconds).toBeLessThan(
        values[part].terminationGracePeriodSeconds,
      );
    }
  });

  it("makes of its own values what the plain manifests are", () => {
    const rendered = new Map(manifestsOf(golden).map((each) => [PLAIN_NAMES[keyOf(each)] ?? keyOf(each), each]));
    expect([...rendered.keys()].toSorted()).toEqual(plain.map(keyOf).toSorted());
    for (const manifest of plain) expect(asPlain(rendered.get(keyOf(manifest))!)).toEqual(asPlain(manifest));
  });

  it("has a schema that knows every key of its values, and no other", () => {
    const schema = JSON.parse(read(chart, "values.schema.json"));
    expect(Object.keys(values).toSorted()).toEqual(
      Object.keys(schema.properties)
        .filter((key) => key !== "global")
        .toSorted(),
    );
    for (const part of ["agent", "gateway", "image", "serviceMonitor"])
      expect(Object.keys(values[part]).toSorted()).toEqual(Object.keys(schema.properties[part].properties).toSorted());
  });

  it("is of the version of the package", () => {
    const { version } = JSON.parse(read(project, "package.json"));
    expect(parse(read(chart, "Chart.yaml"))).toMatchObject({ version, appVersion: version });
    expect(readdirSync(join(chart, "templates"))).toContain("NOTES.txt");
  });
});

const KEYS = { name: "keys", mountPath: "/etc/sluice-keys", readOnly: true };
const WITH_SECRETS = {
  image: { repository: "registry.example/sluice", tag: "1" },
  imagePullSecrets: [{ name: "pull" }],
  serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
  gateway: {
    backend: "https://otlp.example.com",
    env: [{ name: "TOKEN", valueFrom: { secretKeyRef: { name: "backend", key: "token" } } }],
    extraVolumes: [{ name: "keys", secret: { secretName: "queue-keys" } }],
    extraVolumeMounts: [KEYS],
    config: {
      extensions: { reliability: { encryption: { keys: [{ id: "a", file: "/etc/sluice-keys/a.key" }] } } },
      exporters: { otlp_http: { headers: { authorization: "Bearer ${env:TOKEN:-}" } } },
    },
  },
};
const store = { postgres: { endpoint: "db:5432", password: "${env:PGPASSWORD:-}" } };
const WITHOUT_DISK = {
  agent: { enabled: false },
  gateway: {
    persistence: { enabled: false },
    autoscaling: { enabled: false },
    podDisruptionBudget: { enabled: false },
    replicas: 5,
    config: { extensions: { reliability: { directory: null, store } } },
  },
};

describe.skipIf(!hasHelm)("helm", () => {
  it("makes of the chart what is kept here", () => {
    expect(manifestsOf(helm("template").stdout)).toEqual(manifestsOf(golden));
  });

  it("does what the page says", () => {
    const [, arguments_ = ""] = /^helm install (.*)$/m.exec(read(project, "docs/operate/scaling.md")) ?? [];
    const args = ["template", ...arguments_.split(" "), "--kube-version", "1.30"];
    const { status, stdout } = spawnSync("helm", args, { cwd: project, encoding: "utf8" });
    expect(status).toBe(0);
    expect(stdout).toContain("https://otlp.example.com");
  });

  it.each([
    ["its own values", {}],
    ["secrets by reference, and scraped by an operator", WITH_SECRETS],
    ["gateways without a disk", WITHOUT_DISK],
  ])("takes the chart with %s, with configs without a mistake", (_, own) => {
    expect(helm("lint", own)).toMatchObject({ status: 0 });
    const { status, stdout, stderr } = helm("template", own);
    expect([status, stderr]).toEqual([0, ""]);
    const manifests = manifestsOf(stdout);
    expect(new Set(manifests.map(keyOf)).size).toBe(manifests.length);
    for (const manifest of manifests) if (manifest.kind === "ConfigMap") checkedConfig(manifest["data"]["sluice.yaml"]);
  });

  it("mounts what secrets are in and passes on what they are called, and makes what an operator of Prometheus looks for", () => {
    const manifests = manifestsOf(helm("template", WITH_SECRETS).stdout);
    const find = (key: string) => manifests.find((each) => keyOf(each) === key)!;
    const pod = find("StatefulSet/sluice-gateway")["spec"].template.spec;
    const [container] = pod.containers;
    expect(container).toMatchObject({ image: "registry.example/sluice:1" });
    expect(container.env).toEqual([
      { name: "SLUICE_BACKEND", value: "https://otlp.example.com" },
      ...WITH_SECRETS.gateway.env,
    ]);
    expect(container.volumeMounts).toContainEqual(KEYS);
    expect(pod.volumes).toContainEqual(WITH_SECRETS.gateway.extraVolumes[0]);
    for (const part of ["agent", "gateway"]) {
      const { matchLabels } = find(`ServiceMonitor/sluice-${part}`)["spec"].selector;
      expect(find(`Service/sluice-${part}-metrics`).metadata).toMatchObject({ labels: matchLabels });
    }
  });

  it("has no volume, and no limit to how many go, where gateways keep nothing", () => {
    const manifests = manifestsOf(helm("template", WITHOUT_DISK).stdout);
    expect(manifests.map(({ kind }) => kind).toSorted()).toEqual([
      "ConfigMap",
      "Service",
      "ServiceAccount",
      "StatefulSet",
    ]);
    const { spec } = manifests.find(({ kind }) => kind === "StatefulSet")!;
    expect(spec).toMatchObject({ replicas: 5 });
    expect(spec.volumeClaimTemplates).toBeUndefined();
    expect(spec.template.spec.containers[0].volumeMounts).toHaveLength(1);
  });

  it.each([
    [{ gateway: { persistence: { enabled: false } } }, "queues would go with their pods"],
    [{ gateway: { terminationGracePeriodSeconds: 70 } }, "gateway.terminationGracePeriodSeconds (70) has to be longer"],
    [{ agent: { config: { service: { shutdown_timeout: "1m" } } } }, "agent.terminationGracePeriodSeconds (40)"],
    [{ gateways: { replicas: 3 } }, "additional properties 'gateways' not allowed"],
    [{ gateway: { replicas: "many" } }, "want integer"],
  ])("is told what is wrong with %j", (own, message) => {
    const { status, stderr } = helm("template", own);
    expect(status).not.toBe(0);
    expect(stderr).toContain(message);
  });
});
