/** Calls of exporters: an outlet that sends each delivery as it comes, and the ids of entries with a key. */

export { directOutlet, Semaphore } from "./direct-outlet.js";
export { isKeyedEntryId, keyedEntryId } from "./keyed-entry-id.js";
