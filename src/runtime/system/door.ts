/** The system: environment, private files, optional packages, versions of files. */

export { environmentVariable, useEnvironment } from "./environment.js";
export { fileHash, fileSignature } from "./file-version.js";
export { hasClient, loadClient, missingClient, withClient } from "./load-client.js";
export { packageFolder, packageVersion } from "./package-info.js";
export { makePrivate, makePrivateDirectory, PRIVATE_FILE_MODE } from "./private-files.js";
export { type HoldOwner, holdName, type ProcessHold } from "./process-hold.js";
export { isSingleExecutable } from "./single-executable.js";
export { workerCount } from "./usable-cpus.js";
