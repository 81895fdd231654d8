/** Cause and remedy of a problem code. The problem itself has the place and the expected value. */
interface ProblemFacts {
  readonly cause: string;
  readonly action: string;
}

/** All codes of config problems. `docs/reference/errors.md` is generated from this table too. */
export const PROBLEMS = {
  address_taken: {
    cause: "Two components, or a component and the agent itself, would listen on the same address.",
    action: "Give one of them another port or host.",
  },
  bad_component: {
    cause: "One of the `components` passed by the program cannot be used.",
    action: "Pass the results of the `define` functions of `sluice/plugin`, each type once.",
  },
  bare_variable: {
    cause: "`$NAME` is text, as in the Collector of today, and an environment variable of that name is set.",
    action: "Write the name in braces, after `env:`, for the variable, or `$$NAME` for the text.",
  },
  cannot_authenticate: {
    cause:
      "An `auth` names an extension that is not an authenticator, or is configured for the other side of a connection.",
    action: "Name an authenticator for this side, or configure that extension for this side.",
  },
  clients_wait: {
    cause:
      "A processor holds data back, and its pipeline's intake is not durable: clients wait for their answers in the meantime.",
    action:
      "Leave `intake: {durable: auto}`, turn the queues on, or make the processor's wait shorter than the clients' timeout.",
  },
  component_failed: {
    cause: "A component's code threw an error while its config was checked.",
    action: "Fix the plugin; the problem names the function and the error.",
  },
  connector_cycle: {
    cause: "Pipelines feed each other through connectors in a circle: data would circulate forever.",
    action: "Remove one of these connectors from a pipeline's exporters.",
  },
  connector_one_sided: {
    cause: "A connector is used only as an exporter, or only as a receiver.",
    action: "Name it among the exporters of one pipeline and among the receivers of another.",
  },
  deprecated_key: {
    cause: "A key is deprecated: it still works, but will be removed.",
    action: "Write what the problem suggests instead.",
  },
  duplicate_id: {
    cause: "Two components of a kind, or two pipelines, have the same id.",
    action: "Give one of them another name, such as `otlp/second`.",
  },
  duplicate_key: {
    cause: "A key occurs twice in one map; YAML does not define which one is used.",
    action: "Remove one of them.",
  },
  duplicate_processor: {
    cause: "A processor is listed twice in a pipeline and would run twice.",
    action: "Remove one, or define a second processor with another name.",
  },
  empty_config: {
    cause: "The config is empty.",
    action: "Write receivers, exporters and `service.pipelines`; start from one of [the examples](../../config/).",
  },
  extension_off: {
    cause: "An `auth` names an extension that does not run.",
    action: "Add it to `service.extensions`.",
  },
  file_cycle: {
    cause: "A `file:` substitution includes a file that includes itself, directly or indirectly.",
    action: "Break the circle.",
  },
  ignored_key: {
    cause:
      "A key has no effect. It is a key of the Collector that has no meaning here, or another key has replaced it.",
    action: "Nothing, or remove it; the problem gives the reason.",
  },
  integer_duration: {
    cause: "A duration has no unit, so it is in nanoseconds, as in the Collector.",
    action: "Write the unit: `5s`, `200ms`.",
  },
  invalid_id: {
    cause: "A component id is invalid.",
    action: "Write `type` or `type/name`, such as `otlp` or `otlp/second`.",
  },
  invalid_set: {
    cause: "A `--set` is not of the form `key.path=value`.",
    action: "Write it like this: `--set exporters.debug.verbosity=detailed`.",
  },
  invalid_variable: {
    cause: "An `env:` substitution does not contain the name of an environment variable.",
    action: "Use letters, digits and underscores; write `$$` for a literal dollar sign.",
  },
  limiter_not_first: {
    cause: "`memory_limiter` comes after other processors, which then process data that it refuses.",
    action: "Put it first.",
  },
  missing_key: {
    cause: "A required key is missing, or has no value.",
    action: "Write it; the problem says what is expected.",
  },
  no_config: {
    cause: "No config was given.",
    action: "Give one with `--config`.",
  },
  no_effect: {
    cause: "A component or pipeline of the Collector has no effect here.",
    action: "Nothing, or remove it; the problem gives the reason.",
  },
  no_exporters: {
    cause: "A pipeline has no exporters.",
    action: "Name at least one exporter or connector.",
  },
  no_queue_directory: {
    cause: "A program has exporters with a durable queue, but sets no directory for it.",
    action: "Name a directory, or turn the queues off, as the problem says.",
  },
  no_receivers: {
    cause: "A pipeline has no receivers.",
    action: "Name at least one receiver or connector; in a program, `app`.",
  },
  not_a_map: {
    cause: "The config as a whole is a text, a list or a number, not a map.",
    action: "Begin with `receivers:`, `exporters:` and `service:` at the left margin.",
  },
  open_listener: {
    cause: "Something listens on an address that other machines may reach, without TLS or without authentication.",
    action: "Configure `tls` and `auth`, or listen on 127.0.0.1. Ignore the warning if a proxy in front does both.",
  },
  over_intake_limit: {
    cause: "A processor may hold back as much data as the intake admits, so clients are refused before it makes room.",
    action: "Set its limit below `service.intake.max_bytes`, or raise `service.intake.max_bytes`.",
  },
  plugin_component: {
    cause: "A plugin was loaded, but its exports cannot be used, or lack the required type.",
    action: "Export the results of the `define` functions, as default or named exports.",
  },
  plugin_contract: {
    cause: "A plugin was built for another version of the plugin contract.",
    action: "Update Sluice, or the plugin, whichever is older.",
  },
  plugin_failed: {
    cause: "A plugin's module threw while it was loaded, cannot be parsed, or did not end loading.",
    action: "Fix the place that the problem names.",
  },
  plugin_import: {
    cause: "A plugin imports a package or a file that cannot be found.",
    action: "Install the package next to the plugin, or fix the path.",
  },
  plugin_not_found: {
    cause: "A package or file in `plugins` does not exist, relative to the config's folder.",
    action: "Install it there, or fix the name or path.",
  },
  plugin_not_listed: {
    cause: "A type is unknown, but an installed package has a matching name.",
    action: "List the package under `plugins`, if it is the one you mean.",
  },
  plugin_type_taken: {
    cause: "A plugin's type is already used by another component of its kind.",
    action: "Give it another type, or do not load both.",
  },
  plugin_typescript: {
    cause: "A plugin is TypeScript that this Node.js cannot load.",
    action: "Compile it, or use a newer Node.js and only types that can be stripped.",
  },
  plugins_not_loaded: {
    cause: "A config with plugins was loaded by a function that does not load them.",
    action: "Use the command line, `createSluice` or `runPipeline`: they load them.",
  },
  reference_cycle: {
    cause: "An environment variable refers to itself, directly or through others.",
    action: "Break the circle.",
  },
  remote_privilege: {
    cause:
      "A config from afar changes a privileged key: one that names a program, a file to write, a listener or who may use the agent.",
    action: "Change it in the agent's own files, or name the key under `service: {allow: [...]}` there.",
  },
  remote_takeover: {
    cause: "A management server sent a config that changes or removes the extension through which it was sent.",
    action: "Leave the extension out of the remote config. Change it in the agent's own files.",
  },
  repeated_reference: {
    cause: "A receiver, exporter or extension is named twice in one list; it is used once.",
    action: "Remove one.",
  },
  restart_needed: {
    cause: "A key changed that cannot change while the agent runs, such as the directory of the queues.",
    action: "Restart the agent, or change the key back.",
  },
  schema_failed: {
    cause: "A component's schema threw an error while its config was parsed.",
    action: "Fix the schema: it is a bug in the plugin.",
  },
  start_failed: {
    cause:
      "The config is valid, but a component could not start: for example, a port is in use or a file cannot be read.",
    action: "Fix the cause on the machine, or choose another value.",
  },
  undefined_reference: {
    cause: "A pipeline, or a connector's config, names something that is not defined.",
    action: "Define it, or fix the name.",
  },
  unknown_component: {
    cause: "There is no component of that type. If no pipeline uses it, this is only a warning.",
    action: "Fix the name, or list the plugin that provides it under `plugins`.",
  },
  unknown_key: {
    cause: "A key is unknown here.",
    action: "Fix its name or its indentation; the problem lists the known or similar keys.",
  },
  unknown_provider: {
    cause: "A substitution names a source of values that does not exist.",
    action: "Use `env`, `file` or `yaml`, or `$$` for a dollar sign.",
  },
  unknown_signal: {
    cause: "The id of a pipeline does not begin with a signal.",
    action: "Write `logs`, `traces` or `metrics`, with a name if there are several: `logs/audit`.",
  },
  unreadable_file: {
    cause: "The config, or a file that it refers to, cannot be read.",
    action: "Fix the path, or the permissions of the user that runs the agent.",
  },
  unset_variable: {
    cause: "An environment variable is not set, and there is no default.",
    action: "Set it, or add a default after the name, as in `NAME:-default`.",
  },
  unsupported_signal: {
    cause: "A component is in a pipeline whose signal it does not support.",
    action: "Remove it, or move it to a pipeline with a supported signal.",
  },
  unused_component: {
    cause: "A component is defined but not used by any pipeline or `service.extensions`: it does not run.",
    action: "Use it, or remove it.",
  },
  wrong_kind: {
    cause: "A pipeline lists a component of the wrong kind, such as an exporter among its receivers.",
    action: "Move the id to the list of its kind.",
  },
  wrong_type: {
    cause: "A value has the wrong type, such as a string instead of a list.",
    action: "Write what the problem expects; quotes turn a number into a string.",
  },
  wrong_value: {
    cause: "A value has the right type but is not allowed.",
    action: "Write one that the problem lists or describes.",
  },
  yaml_depth: {
    cause: "The YAML is nested deeper than any config needs.",
    action: "Look for unclosed brackets, or generate a smaller config.",
  },
  yaml_documents: {
    cause: "A file has a second YAML document, after `---`.",
    action:
      "Write one document per file, and pass several files with several `--config`: only the first document is read.",
  },
  yaml_syntax: {
    cause: "The text is not valid YAML, or contains an unresolvable part, such as an alias without its anchor.",
    action: "Fix it at this place; common causes are indentation, and substitutions in brackets without quotes.",
  },
  yaml_tag: {
    cause: "The YAML has an unknown tag.",
    action: "Remove the tag.",
  },
  zone_order: {
    cause:
      "A processor comes after one that should come later, such as `pii` after a processor that sends data elsewhere.",
    action: "Move it as the problem says. It is an error with `service.strict_order`, otherwise a warning.",
  },
} as const satisfies Readonly<Record<string, ProblemFacts>>;

export type ProblemCode = keyof typeof PROBLEMS;
