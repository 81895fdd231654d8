export { FAILURE as failure, failedOf, fresh } from "../../../../src/runtime/testing/conformance/storage-bench.js";
