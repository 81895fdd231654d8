import { AsyncLocalStorage } from "node:async_hooks";
import { type Context, type ContextManager, context, createContextKey, ROOT_CONTEXT } from "@opentelemetry/api";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp, INTO_KEPT, keeper, started } from "./support.js";

const SUPPRESSED = createContextKey("OpenTelemetry SDK Context Key SUPPRESS_TRACING");

class Contexts implements ContextManager {
  private readonly storage = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.storage.getStore() ?? ROOT_CONTEXT;
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    active: Context,
    fn: F,
    self?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.storage.run(active, () => fn.apply(self as never, args));
  }

  bind<T>(_context: Context, target: T): T {
    return target;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    return this;
  }
}

afterEach(async () => {
  context.disable();
  await cleanUp();
});

describe("an embedded exporter", () => {
  it("sends where instrumentations make no spans", async () => {
    context.setGlobalContextManager(new Contexts());
    const seen: unknown[] = [];
    const { components } = keeper(async () => {
      await Promise.resolve();
      seen.push(context.active().getValue(SUPPRESSED));
    });
    const sluice = await started({ config: INTO_KEPT, components });
    await sluice.logs.emit({ body: "x" }, { failOnError: true });
    expect([seen, context.active().getValue(SUPPRESSED)]).toEqual([[true], undefined]);
  });
});
