export {
  FAILURE as failure,
  failedEntry,
  newEntry,
} from "../../../../src/agent/testing/conformance/storage-harness.js";
