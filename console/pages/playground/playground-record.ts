/** A record that another page has sent to the playground. */
export interface PlaygroundRecord {
  readonly signal: string;
  readonly record: unknown;
}

const KEY = "sluice.playground";

/** Kept in this tab, so that it is still there after a reload. */
export function savePlaygroundRecord(record: PlaygroundRecord): void {
  sessionStorage.setItem(KEY, JSON.stringify(record));
}

export function readPlaygroundRecord(): PlaygroundRecord | undefined {
  const text = sessionStorage.getItem(KEY);
  return text === null ? undefined : (JSON.parse(text) as PlaygroundRecord);
}
