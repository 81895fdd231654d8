/** The door for component tests. */
export { Debt, Delivery, Habitat } from "./runtime/contract/delivery.js";
