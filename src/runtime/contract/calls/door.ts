/** Calls of exporters: an outlet that sends each delivery as it comes. */

export { directOutlet } from "./direct-outlet.js";
