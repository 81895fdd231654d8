/** Numbers and texts of JSON as Go writes them, which the Collector puts into attributes, labels and lines. */

export { formatDouble, goNumber, notFiniteText, plainGoNumber, quoteGoJson } from "./go-text.js";
