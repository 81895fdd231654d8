import { execFile } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import type { Logger } from "#contract";
import { StartError } from "#contract/errors";
import type { EncryptionConfig, QueueKeyConfig } from "./config.js";
import { createQueueKey, KEY_BYTES, Keyring, type QueueKey } from "./keyring.js";

/** Loads the keys of a config. Throws a `StartError` that names the key but reveals no part of it. */
export async function loadKeyring(config: EncryptionConfig | undefined, logger: Logger): Promise<Keyring> {
  if (config === undefined) return new Keyring();
  const keys: QueueKey[] = [];
  for (const written of config.keys) {
    try {
      keys.push(createQueueKey(written.id, await readKey(written, logger)));
    } catch (error) {
      const message = `the key ${JSON.stringify(written.id)} cannot be used: ${(error as Error).message}`;
      throw new StartError(message, ["encryption", "keys"]);
    }
  }
  const active = keys.find(({ id }) => id === (config.active ?? config.keys[0]!.id));
  return new Keyring(keys, config.enabled ? active : undefined, config.refuse_plain);
}

async function readKey({ file, key, command }: QueueKeyConfig, logger: Logger): Promise<Buffer> {
  if (key !== undefined) return parseKey(Buffer.from(key));
  if (file === undefined) return parseKey(await outputOf(command!));
  const { mode } = await stat(file);
  if (process.platform !== "win32" && (mode & 0o077) !== 0)
    logger.warn({ file }, "other users can read the key file: set its permissions to 0600");
  return parseKey(await readFile(file));
}

/** Accepts 32 bytes or their hexadecimal or base64 form. The buffer that was read is zeroed, unless it is returned. */
function parseKey(read: Buffer): Buffer {
  if (read.length === KEY_BYTES) return read;
  const text = read.toString("latin1").trim();
  read.fill(0);
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, "hex");
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return Buffer.from(text, "base64");
  throw new Error(`expected ${KEY_BYTES} random bytes, or the same in hexadecimal (64 characters) or base64 (44)`);
}

function outputOf([program, ...args]: readonly string[]): Promise<Buffer> {
  const options = { encoding: "buffer", timeout: COMMAND_TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES } as const;
  return new Promise((resolve, reject) => {
    execFile(program!, args, options, (error, stdout) => {
      if (error === null) return resolve(stdout);
      stdout?.fill(0);
      const { code, killed } = error as NodeJS.ErrnoException & { killed?: boolean };
      const why = killed ? "took too long or printed too much" : `failed (${code ?? "unknown error"})`;
      reject(new Error(`${program} ${why}: run it by hand to see why`));
    });
  });
}

const COMMAND_TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 4096;
