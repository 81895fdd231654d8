import { expect, it } from "vitest";
import { API_ERRORS } from "../../../src/extensions/admin-api/http-error.js";
import { PROBLEMS } from "../../../src/runtime/config/text/problem-codes.js";
import { ERRORS } from "../../../src/runtime/contract/errors/error-codes.js";
import type { Page } from "../pages.js";

const script = new URL("../../../scripts/pages/error-reference.js", import.meta.url).href;
const { errorReference } = (await import(script)) as { errorReference: (tables: object) => string };

export function errors({ text }: Page): void {
  it("says what the tables say (npm run build && node scripts/pages/error-reference.js makes it)", () => {
    expect(text).toBe(errorReference({ errors: ERRORS, problems: PROBLEMS, apiErrors: API_ERRORS }));
  });
}
