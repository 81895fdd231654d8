import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { builtins } from "../../support/builtins.js";
import { type Page, project } from "../pages.js";

const script = new URL("../../../scripts/pages/component-list.js", import.meta.url).href;
const { componentList, COMPONENT_PAGES } = (await import(script)) as {
  componentList: (factories: readonly object[]) => string;
  COMPONENT_PAGES: Readonly<Record<string, Readonly<Record<string, string>>>>;
};

export function components({ text }: Page): void {
  it("says what the components say (npm run build && node scripts/pages/component-list.js makes it)", () => {
    expect(text).toBe(componentList(builtins));
  });

  it("links to pages of components that there are", () => {
    for (const [kind, pages] of Object.entries(COMPONENT_PAGES)) {
      const types = builtins.filter((each) => each.kind === kind).map(({ type }) => type);
      expect(types).toEqual(expect.arrayContaining(Object.keys(pages)));
      for (const page of Object.values(pages))
        expect(existsSync(join(project, "docs", page.replace(/#.*/, "")))).toBe(true);
    }
  });
}
