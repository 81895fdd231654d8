const KEY = "sluice.name";

/** The last given name, so that it need not be typed again. If the API knows the user, it uses its own name. */
export function readName(): string {
  return localStorage.getItem(KEY) ?? "";
}

export function saveName(name: string): void {
  localStorage.setItem(KEY, name.trim());
}
