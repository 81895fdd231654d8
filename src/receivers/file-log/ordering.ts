import { parseLayout, parseTime } from "#text";
import { compilePattern } from "#text/patterns";
import type { FileLogConfig } from "./config.js";
import type { FoundFile } from "./file-table.js";

type OrderingCriteria = NonNullable<FileLogConfig["ordering_criteria"]>;
type SortBy = OrderingCriteria["sort_by"][number];

/** Returns the first files of each group by these criteria. Files that lack a compared value are left out. */
export function chooseFiles(found: readonly FoundFile[], criteria: OrderingCriteria): FoundFile[] {
  const { group_by, sort_by } = criteria;
  if (sort_by.length === 0) return [...found];
  const groups = new Map<string, FoundFile[]>();
  const groupBy = group_by === "" ? undefined : compilePattern(group_by);
  for (const file of found) {
    const group = groupBy === undefined ? "" : firstGroup(groupBy.groupList(file.path));
    if (group === undefined) continue;
    groups.set(group, [...(groups.get(group) ?? []), file]);
  }
  return [...groups.values()].flatMap((files) => chooseOf(files, criteria));
}

function firstGroup(groups: readonly (string | undefined)[] | undefined): string | undefined {
  return groups === undefined ? undefined : (groups[0] ?? "");
}

function chooseOf(files: readonly FoundFile[], { regex, sort_by, top_n = 1 }: OrderingCriteria): FoundFile[] {
  const pattern = regex === "" ? undefined : compilePattern(regex);
  const keyed = files.flatMap((file) => {
    const groups = pattern?.groups(file.path) ?? {};
    const keys = sort_by.map((sort) => sortKey(file, sort, groups));
    return keys.some((key) => key === undefined) ? [] : [{ file, keys: keys as (string | number)[] }];
  });
  keyed.sort((a, b) => {
    for (const [index, { ascending }] of sort_by.entries()) {
      const [one, other] = [a.keys[index]!, b.keys[index]!];
      if (one !== other) return (one < other ? -1 : 1) * (ascending ? 1 : -1);
    }
    return 0;
  });
  const chosen = keyed.map(({ file }) => file);
  return top_n === 0 ? chosen : chosen.slice(0, top_n);
}

function sortKey(file: FoundFile, sort: SortBy, groups: Readonly<Record<string, string>>): string | number | undefined {
  if (sort.sort_type === "mtime") return file.stats.mtimeMs;
  const text = groups[sort.regex_key];
  if (text === undefined) return undefined;
  if (sort.sort_type === "alphabetical") return text;
  const number = sort.sort_type === "numeric" ? Number(text) : timeOf(text, sort);
  return number === undefined || Number.isNaN(number) ? undefined : number;
}

function timeOf(text: string, { layout, location }: SortBy): number | undefined {
  try {
    return Number(parseTime(parseLayout(layout), text, location === "" ? undefined : location, 0n).nanos);
  } catch {
    return undefined;
  }
}
