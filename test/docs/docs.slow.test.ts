import { afterAll, describe } from "vitest";
import { pages } from "./pages.js";
import { removeProject } from "./project.js";
import { TABLE } from "./table.js";

afterAll(removeProject);

describe.each(TABLE.filter(({ isSlow }) => isSlow).map(({ page, by }) => [page, by] as const))("%s", (name, by) => {
  if (typeof by === "function") by(pages.find((page) => page.name === name)!);
});
