import { describeStore } from "./conformance.js";
import { makePlace } from "./level-harness.js";

for (const durability of ["fsync", "interval", "process"] as const) {
  describeStore(`LevelStore (${durability})`, () => {
    const place = makePlace();
    return {
      async create() {
        const store = place.store({ durability });
        await store.open();
        return store;
      },
      async reopen(store) {
        await store.close();
        const again = place.store({ durability });
        await again.open();
        return again;
      },
      remove: place.remove,
    };
  });
}
