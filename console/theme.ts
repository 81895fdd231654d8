import { Value } from "./api/value.js";

export type Theme = "auto" | "light" | "dark";

const KEY = "sluice.theme";
const ORDER: readonly Theme[] = ["auto", "light", "dark"];

/** The selected theme; `auto` follows the system. */
export const theme = new Value<Theme>(ORDER.find((each) => each === localStorage.getItem(KEY)) ?? "auto");

export function applyTheme(): void {
  const show = (value: Theme) => {
    document.documentElement.dataset["theme"] = value;
  };
  show(theme.get());
  theme.listen(show);
}

export function nextTheme(): void {
  const next = ORDER[(ORDER.indexOf(theme.get()) + 1) % ORDER.length]!;
  localStorage.setItem(KEY, next);
  theme.set(next);
}
