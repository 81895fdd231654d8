import { register } from "node:module";

register("./trace-functions.js", import.meta.url);
