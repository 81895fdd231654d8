import { readFile, realpath, stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { LogValue } from "#logs/entries";
import type { FileLogConfig } from "./config.js";

/** All attributes that can describe the file of a record. */
export const FILE_ATTRIBUTES = [
  "log.file.name",
  "log.file.path",
  "log.file.owner.name",
  "log.file.owner.group.name",
  "log.file.permissions",
  "log.file.name_resolved",
  "log.file.path_resolved",
];

/** Builds the attributes that describe the file of a record. Throws file system errors. */
export class FileAttributes {
  private readonly config: FileLogConfig;

  constructor(config: FileLogConfig) {
    this.config = config;
  }

  async values(path: string): Promise<Record<string, LogValue>> {
    const { config } = this;
    const values: Record<string, LogValue> = Object.create(null);
    if (config.include_file_name) values["log.file.name"] = basename(path);
    if (config.include_file_path) values["log.file.path"] = path;
    if (config.include_file_owner_name || config.include_file_owner_group_name || config.include_file_permissions) {
      const { uid, gid, mode } = await stat(path);
      if (config.include_file_owner_name) values["log.file.owner.name"] = await nameOf("/etc/passwd", uid);
      if (config.include_file_owner_group_name) values["log.file.owner.group.name"] = await nameOf("/etc/group", gid);
      if (config.include_file_permissions) values["log.file.permissions"] = (mode & 0o777).toString(8).padStart(3, "0");
    }
    if (config.include_file_name_resolved || config.include_file_path_resolved) {
      const resolved = resolve(await realpath(path));
      if (config.include_file_name_resolved) values["log.file.name_resolved"] = basename(resolved);
      if (config.include_file_path_resolved) values["log.file.path_resolved"] = resolved;
    }
    return { ...this.config.attributes, ...values };
  }
}

/** Looks up a numeric id in a file such as /etc/passwd. Returns the number itself if it has no name there. */
async function nameOf(file: string, id: number): Promise<string> {
  const text = await readFile(file, "utf8").catch(() => "");
  for (const line of text.split("\n")) {
    const [name = "", , number] = line.split(":");
    if (number === String(id)) return name;
  }
  return String(id);
}
