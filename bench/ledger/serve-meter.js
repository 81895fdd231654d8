import { serve } from "../lib/processes/role.js";
import { meterCalls } from "./meter.js";

/** Loaded into an agent with --import; the agent does not know about it. */
serve(meterCalls);
