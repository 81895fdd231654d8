import { execFile, execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { pack, project } from "./packed.js";

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "sluice-supply-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Component {
  readonly purl: string;
  readonly "bom-ref": string;
  readonly licenses: readonly { readonly license: { readonly id: string } }[];
  readonly hashes: readonly { readonly alg: string; readonly content: string }[];
}

/** Packages whose code is in the console's files. */
function importedByConsole(): string[] {
  const sources = readdirSync(join(project, "console"), { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.tsx?$/.test(name),
  );
  const texts = sources.map((name) => readFileSync(join(project, "console", name), "utf8"));
  const names = texts.flatMap((text) =>
    [...text.matchAll(/ from "(@[^"/]+\/[^"/]+|[^."][^"/]*)/g)].map(([, name]) => name!),
  );
  return [...new Set(names)];
}

describe("the bill of materials", () => {
  const bom = JSON.parse(readFileSync(join(project, "dist/sbom.cdx.json"), "utf8")) as {
    readonly bomFormat: string;
    readonly specVersion: string;
    readonly components: readonly Component[];
    readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  };
  const manifest = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as { dependencies: object };

  it("names every package that is installed with Sluice or built into it, and none that is for building it", () => {
    expect([bom.bomFormat, bom.specVersion]).toEqual(["CycloneDX", "1.6"]);
    const names = bom.components.map(({ purl }) => decodeURIComponent(purl).replace(/^pkg:npm\/|@[^@]*$/g, ""));
    expect(names).toEqual(expect.arrayContaining(Object.keys(manifest.dependencies)));
    expect(names).toContain("abstract-level");
    expect(names).toEqual(expect.arrayContaining(importedByConsole()));
    expect(names.filter((name) => /typescript|vitest|grpc-js|protobufjs/.test(name))).toEqual([]);
  });

  it("says of each its license and its hash, and what needs it", () => {
    const refs = new Set(bom.components.map((component) => component["bom-ref"]));
    const needed = new Set(bom.dependencies.flatMap(({ dependsOn }) => dependsOn));
    for (const { licenses, hashes } of bom.components) {
      expect(licenses[0]!.license.id).toMatch(/^(Apache-2\.0|MIT|ISC|0BSD|BSD-[23]-Clause)$/);
      expect(hashes[0]).toEqual({ alg: "SHA-512", content: expect.stringMatching(/^[0-9a-f]{128}$/) });
    }
    expect([...needed].filter((ref) => !refs.has(ref))).toEqual([]);
    expect([...refs].filter((ref) => !needed.has(ref))).toEqual([]);
  });
});

/** This checkout at another place and of another time, built and packed there. */
async function packElsewhere(): Promise<Buffer> {
  const checkout = join(folder, "elsewhere");
  const tracked = execFileSync("git", ["ls-files", "-z"], { cwd: project, encoding: "utf8" }).split("\0");
  const time = new Date("2024-01-01");
  for (const file of tracked.filter((name) => name !== "")) {
    cpSync(join(project, file), join(checkout, file));
    utimesSync(join(checkout, file), time, time);
  }
  symlinkSync(join(project, "node_modules"), join(checkout, "node_modules"));
  const env = { ...process.env, TZ: "Asia/Tokyo" };
  await run("npm", ["run", "build"], { cwd: checkout, env, maxBuffer: 1e8 });
  const { packed, folder: place } = await pack(checkout);
  return readFileSync(join(place, packed.filename));
}

describe("the package", () => {
  it("is the same to the byte when it is built at another place and time", async () => {
    const { packed, folder: place } = await pack();
    const here = readFileSync(join(place, packed.filename));
    expect(here.length).toBeGreaterThan(100_000);
    expect((await packElsewhere()).equals(here)).toBe(true);
  });
});

describe("checksums of a release", () => {
  const script = join(project, "scripts/checksums.js");
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const release = join(folder, "release");
  const [key, publicHalf] = [join(folder, "key.pem"), join(folder, "public.pem")];
  const verify = () => run(process.execPath, [script, "verify", publicHalf, release]);

  it("are signed, and tell what was changed", async () => {
    mkdirSync(release);
    writeFileSync(key, privateKey.export({ type: "pkcs8", format: "pem" }));
    writeFileSync(publicHalf, publicKey.export({ type: "spki", format: "pem" }));
    const files = ["sluice.tgz", "sluice-linux-x64"].map((name) => join(release, name));
    for (const file of files) writeFileSync(file, `contents of ${file}`);
    await run(process.execPath, [script, "sign", key, ...files]);
    expect((await verify()).stdout).toBe("sluice-linux-x64: OK\nsluice.tgz: OK\n");
    await run("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: release });
    writeFileSync(files[0]!, "other contents");
    await expect(verify()).rejects.toThrow("sluice.tgz is not what was signed");
    await run(process.execPath, [script, "sign", key, files[1]!]);
    const sums = join(release, "SHA256SUMS");
    writeFileSync(sums, readFileSync(sums, "utf8").replace("x64", "arm64"));
    await expect(verify()).rejects.toThrow("SHA256SUMS is not what was signed");
  });
});
