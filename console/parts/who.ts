const KEY = "sluice.name";

/** The name that was given last, so that nobody types it twice. Where the API knows who asks, its own word counts. */
export function readName(): string {
  return localStorage.getItem(KEY) ?? "";
}

export function saveName(name: string): void {
  localStorage.setItem(KEY, name.trim());
}
