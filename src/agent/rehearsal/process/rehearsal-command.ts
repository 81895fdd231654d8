/** The command line of the process that an agent starts for a rehearsal. */
export const REHEARSAL_COMMAND = "rehearsal-child";
