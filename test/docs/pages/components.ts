import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type ComponentDescription, describeComponent } from "../../../src/agent/cli/components.js";
import { builtins } from "../../support/builtins.js";
import { type Page, project } from "../pages.js";

const folder = new URL("../../../scripts/pages/", import.meta.url).href;
const { componentList } = (await import(`${folder}component-list.js`)) as {
  componentList: (factories: readonly object[]) => string;
};
const { pageOf, withMadePart } = (await import(`${folder}component-pages.js`)) as {
  pageOf: (component: ComponentDescription) => string;
  withMadePart: (component: ComponentDescription, text: string) => string;
};
const { COMPONENT_GUIDES } = (await import(`${folder}component-guides.js`)) as {
  COMPONENT_GUIDES: Readonly<Record<string, Readonly<Record<string, string>>>>;
};

export function components({ text }: Page): void {
  it("says what the components say (npm run build && node scripts/pages/component-list.js makes it)", () => {
    expect(text).toBe(componentList(builtins));
  });

  const described = builtins.map(describeComponent);

  it.each(described.map((component) => [pageOf(component), component] as const))(
    "%s has the component's name, an example and its keys (npm run build && node scripts/pages/component-pages.js)",
    (name, component) => {
      const page = readFileSync(join(project, name), "utf8");
      expect(page).toMatch(new RegExp(`^# ${component.type} ${component.kind}\n`));
      expect(page).toBe(withMadePart(component, page));
      expect(page.slice(0, page.indexOf("<!-- Made by"))).toMatch(/^```(yaml|js|ts)$/m);
    },
  );

  it("has no page of a component that is gone", () => {
    const pages = readdirSync(join(project, "docs/components"), { recursive: true, encoding: "utf8" });
    const wanted = described.map((component) => pageOf(component).slice("docs/components/".length));
    expect(pages.filter((page) => page.endsWith(".md")).sort()).toEqual([...wanted, "README.md"].sort());
  });

  it("names guides that are there, of components that are there", () => {
    for (const [kind, guides] of Object.entries(COMPONENT_GUIDES)) {
      const types = builtins.filter((each) => each.kind === kind).map(({ type }) => type);
      expect(types).toEqual(expect.arrayContaining(Object.keys(guides)));
      for (const guide of Object.values(guides))
        expect(existsSync(join(project, "docs", guide.replace(/#.*/, "")))).toBe(true);
    }
  });
}
