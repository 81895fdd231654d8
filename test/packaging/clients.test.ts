import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const work = mkdtempSync(join(tmpdir(), "sluice-clients-"));
const checkout = join(work, "opt", "sluice");
const tarball = join(work, "platformatic-kafka-1.35.0.tgz");
afterAll(() => rmSync(work, { recursive: true, force: true }));

const CONFIG = `receivers: {otlp: {protocols: {grpc: }}}
exporters: {kafka: {brokers: ["127.0.0.1:9092"]}}
service: {pipelines: {logs: {receivers: [otlp], exporters: [kafka]}}}
`;

/** A package of the client's name stands for the client: only npm's part is tried here, without the network. */
beforeAll(() => {
  const fake = join(work, "package");
  mkdirSync(fake);
  writeFileSync(join(fake, "package.json"), '{"name":"@platformatic/kafka","version":"1.35.0","main":"index.js"}');
  writeFileSync(join(fake, "index.js"), "module.exports = {};\n");
  execFileSync("tar", ["-czf", tarball, "-C", work, "package"]);
  for (const name of ["package.json", "bin", "dist"])
    cpSync(join(ROOT, name), join(checkout, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(checkout, "node_modules"));
  writeFileSync(join(work, "kafka.yaml"), CONFIG);
});

function validate(cwd: string) {
  const command = [join(checkout, "bin/sluice.js"), "validate", "--config", join(work, "kafka.yaml")];
  const { status, stderr } = spawnSync(process.execPath, command, {
    cwd,
    env: { ...process.env, NODE_PATH: "" },
    encoding: "utf8",
  });
  return { status, stderr };
}

/** Runs the command that the error advises, with the package of this test in place of the registry's. */
function install(advice: string, cwd: string): void {
  const [, options, name] = /run: npm install (.*?) (@platformatic\/kafka@1)\b/.exec(advice) ?? [];
  expect(name).toBe("@platformatic/kafka@1");
  const flags = ["--offline", "--no-audit", "--ignore-scripts"];
  execFileSync("npm", ["install", ...options!.split(" "), ...flags, tarball], { cwd, stdio: "ignore" });
}

describe("the command that adds a client", () => {
  it.each([
    ["in a project that uses the package", "project", "project"],
    ["in a checkout", "opt/sluice", "opt/sluice"],
    ["in the folder of an image, for an agent that is started elsewhere", "opt/sluice", "elsewhere"],
  ])("works %s", (_where, installIn, startIn) => {
    const [folder, cwd] = [join(work, installIn), join(work, startIn)];
    mkdirSync(folder, { recursive: true });
    mkdirSync(cwd, { recursive: true });
    const before = validate(cwd);
    expect(before.status).toBe(1);
    install(before.stderr, folder);
    expect(validate(cwd)).toMatchObject({ status: 0 });
    rmSync(join(folder, "clients"), { recursive: true });
  });
});
