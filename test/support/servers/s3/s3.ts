import { execFileSync } from "node:child_process";
import { delimiter, join } from "node:path";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { signRequest } from "../../../../src/runtime/net/aws/sign.js";
import { installedProgram, ServerProcess, serverFolder } from "../server-process.js";
import { S3_KEYS, S3Emulator } from "./s3-emulator.js";

/** The program of MinIO: SLUICE_S3_SERVER names it, or it is in the PATH. */
const minio = installedProgram("aws_s3 with MinIO", [
  ...(process.env["SLUICE_S3_SERVER"] ? [process.env["SLUICE_S3_SERVER"]] : []),
  ...(process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "minio")),
]);

/** The environment of an agent with keys for these servers. */
export const s3Environment: Readonly<Record<string, string>> = { ...S3_KEYS, AWS_EC2_METADATA_DISABLED: "true" };

export interface S3Server {
  readonly endpoint: string;
  /** Only of the emulator. */
  readonly emulator?: S3Emulator;
  /** Only of a real server. */
  readonly process?: ServerProcess;
  /** Only of a real server: where its files are. */
  readonly folder?: string;
  close(): Promise<void>;
}

/** The servers to test with: the emulator, and MinIO if it is installed. Each has the buckets `archive` and `other`. */
export const S3_SERVERS: readonly (readonly [string, () => Promise<S3Server>])[] = [
  ["an emulator of S3", startEmulator],
  ...(minio === undefined ? [] : [["MinIO", () => startMinio()] as const]),
];

export async function startEmulator(): Promise<S3Server> {
  const emulator = await new S3Emulator("archive", "other").start();
  return { endpoint: emulator.endpoint, emulator, close: () => emulator.close() };
}

export const hasMinio = minio !== undefined;

/** A MinIO of its own, with its files in a temporary folder; if `mebibytes` are given, on a disk of that size. */
export async function startMinio(mebibytes?: number): Promise<S3Server> {
  const folder = serverFolder("minio");
  if (mebibytes !== undefined) execFileSync("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "tmpfs", folder.path]);
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const process = new ServerProcess({
    program: minio!,
    args: [
      "server",
      "--quiet",
      "--address",
      `127.0.0.1:${port}`,
      "--console-address",
      `127.0.0.1:${await freePort()}`,
      folder.path,
    ],
    env: { MINIO_ROOT_USER: S3_KEYS.AWS_ACCESS_KEY_ID, MINIO_ROOT_PASSWORD: S3_KEYS.AWS_SECRET_ACCESS_KEY },
    folder: folder.path,
    isReady: async () => {
      for (const bucket of ["archive", "other"]) await createBucket(endpoint, bucket);
    },
  });
  await process.start();
  return {
    endpoint,
    process,
    folder: folder.path,
    async close() {
      await process.kill();
      if (mebibytes !== undefined) execFileSync("umount", [folder.path]);
      folder.remove();
    },
  };
}

async function createBucket(endpoint: string, bucket: string): Promise<void> {
  const url = new URL(`${endpoint}/${bucket}`);
  const bodyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  const headers = { "x-amz-content-sha256": bodyHash };
  const signing = { method: "PUT", url, headers, body: new Uint8Array(), region: "us-east-1", service: "s3" };
  const keys = { accessKeyId: S3_KEYS.AWS_ACCESS_KEY_ID, secretAccessKey: S3_KEYS.AWS_SECRET_ACCESS_KEY };
  const signed = signRequest({ ...signing, at: Date.now() }, keys);
  const response = await fetch(url, { method: "PUT", headers: { ...headers, ...signed } });
  if (!response.ok && response.status !== 409) throw new Error(`cannot create ${bucket}: ${await response.text()}`);
}
