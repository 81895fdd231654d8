import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "#contract";
import { makePrivate } from "#system";
import { isStoreDirectory } from "../store/level/open/summary-file.js";
import { exporterOfDirectory } from "./directory-name.js";

/**
 * Makes the queues in a directory accessible only to their owner, because earlier versions let others read them. The
 * directory itself is changed only if it contains nothing else, since others may need it. Never rejects.
 */
export async function tightenPermissions(root: string, logger: Logger): Promise<void> {
  const names = await readdir(root).catch(() => []);
  const own: string[] = [];
  for (const name of names) if (await isOwn(root, name)) own.push(name);
  const paths = own.length === names.length ? [root] : own.map((name) => join(root, name));
  let changed = 0;
  for (const path of paths) changed += await makePrivate(path);
  if (changed === 0) return;
  logger.warn({ directory: root, changed }, "other users could read files of the queues; now only the owner can");
}

async function isOwn(root: string, name: string): Promise<boolean> {
  if (name === ".set-aside") return true;
  const [, summaryOf] = SUMMARY_FILE.exec(name) ?? [];
  if (summaryOf !== undefined) return exporterOfDirectory(summaryOf) !== undefined;
  return exporterOfDirectory(name) !== undefined && (await isStoreDirectory(join(root, name)).catch(() => false));
}

const SUMMARY_FILE = /^(.*)\.witness$/;
