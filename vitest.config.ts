import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    pool: "forks",
    // Modules keep no state between tests, so the files that a worker runs share them: loading them took half of the time.
    isolate: false,
    // Most tests wait for sockets, disks and child processes, so two at a time pay also on two cores.
    maxWorkers: 2,
  },
});
