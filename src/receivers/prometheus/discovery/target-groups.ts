import { z } from "zod";
import { textMap } from "../schema.js";
import type { TargetGroup } from "./discovery.js";

const groups = z.array(
  z.looseObject({ targets: z.array(z.string()).nullish(), labels: textMap() }).transform(({ targets, labels }) => ({
    targets: targets ?? [],
    labels,
  })),
);

/** Reads a list of target groups from a file or a server. Throws an error that names the invalid place. */
export function readTargetGroups(value: unknown): TargetGroup[] {
  const read = groups.safeParse(value ?? []);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new Error(`it is not a list of targets and labels: ${issue!.path.join(".")}: ${issue!.message}`);
}
