export {
  FAILURE as failure,
  failedEntry,
  newEntry,
} from "../../../../src/runtime/testing/conformance/storage-harness.js";
