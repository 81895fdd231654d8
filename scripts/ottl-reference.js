import { writeFileSync } from "node:fs";
import { ottlReference } from "../dist/runtime/ottl/compile/reference.js";

writeFileSync(new URL("../docs/reference/ottl-functions.md", import.meta.url), ottlReference());
