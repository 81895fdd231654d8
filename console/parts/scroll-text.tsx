import type { ComponentChildren } from "preact";

/** Text of many lines in a box that scrolls, also by the keyboard. `name` is a class of the style sheet. */
export function ScrollText({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by the keyboard
    <pre class={name} tabIndex={0}>
      {children}
    </pre>
  );
}
