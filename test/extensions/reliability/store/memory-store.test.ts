import { MemoryStore } from "../../../../src/extensions/reliability/store/memory-store.js";
import { describeStore } from "./conformance.js";

describeStore("MemoryStore", () => ({
  async create() {
    const store = new MemoryStore({ exporter: "otlp_http/test" });
    await store.open();
    return store;
  },
  async reopen(store) {
    await store.close();
    await store.open();
    return store;
  },
  async remove() {},
}));
