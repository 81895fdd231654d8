import fc from "fast-check";
import { runs } from "../runs.js";

/** Runs before each file: laws that do not say how often they are tried are tried 100 times, and all laws begin with the seed of this run. */
fc.configureGlobal({ ...runs(100), seed: Number(process.env["FUZZ_SEED"] ?? process.env["LAW_SEED"]) });
