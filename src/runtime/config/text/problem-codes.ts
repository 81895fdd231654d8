/** Cause and remedy of a problem code. The problem itself has the place and the expected value. */
export interface ProblemFacts {
  readonly cause: string;
  readonly action: string;
}

/** All codes of config problems. `docs/errors.md` is generated from this table too. */
export const PROBLEMS = {
  address_taken: {
    cause: "Two components, or a component and the agent itself, would listen at one address.",
    action: "Give one of them another port, or another host of the machine.",
  },
  bad_component: {
    cause: "One of the `components` that a program gave cannot be used.",
    action: "Pass what the `define` functions of `sluice/plugin` return, each type once.",
  },
  cannot_authenticate: {
    cause:
      "An `auth` names an extension that is no authenticator, or is configured for the other side of a connection.",
    action: "Name one that can, or give that extension the keys of this side.",
  },
  clients_wait: {
    cause:
      "A processor holds back what clients send, and its pipeline's intake is not durable: their answers wait with it.",
    action:
      "Leave `intake: {durable: auto}`, turn the queues on, or make the processor's wait shorter than the clients' timeout.",
  },
  component_failed: {
    cause: "The code of a component threw while it was asked about its config.",
    action: "Mend the plugin; the problem names its function and what it threw.",
  },
  connector_cycle: {
    cause: "Pipelines feed each other through connectors in a circle: data would go round for ever.",
    action: "Take one of the connectors in the circle out of a pipeline's exporters.",
  },
  connector_one_sided: {
    cause: "A connector is only an exporter, or only a receiver, of pipelines.",
    action: "Name it among the exporters of one pipeline and among the receivers of another.",
  },
  deprecated_key: {
    cause: "A key still works, and will not for ever.",
    action: "Write what the problem suggests instead.",
  },
  duplicate_id: {
    cause: "Two components of a kind, or two pipelines, have the same id.",
    action: "Give one of them a name of its own, such as `otlp/second`.",
  },
  duplicate_key: {
    cause: "A key stands twice in one map; YAML does not say which of them counts.",
    action: "Take one of them out.",
  },
  duplicate_processor: {
    cause: "A processor stands twice in a pipeline and would run twice.",
    action: "Take one out, or define a second processor with a name of its own.",
  },
  empty_config: {
    cause: "There is nothing in the config.",
    action: "Write receivers, exporters and `service.pipelines`; [the examples](../config/) are good beginnings.",
  },
  extension_off: {
    cause: "An `auth` names an extension that does not run.",
    action: "Add it to `service.extensions`.",
  },
  file_cycle: {
    cause: "A `file:` substitution takes in a file that takes in itself, directly or through others.",
    action: "Break the circle.",
  },
  ignored_key: {
    cause:
      "A key is known and has no effect: it is one of the Collector's that means nothing here, or another key has taken its place.",
    action: "Nothing, or take it out; the problem says why it has none.",
  },
  integer_duration: {
    cause: "A duration has no unit, and so counts nanoseconds, as in the Collector.",
    action: "Write the unit: `5s`, `200ms`.",
  },
  invalid_id: {
    cause: "Something is no component id.",
    action: "Write `type` or `type/name`, such as `otlp` or `otlp/second`.",
  },
  invalid_set: {
    cause: "A `--set` is not of the form `key.path=value`.",
    action: "Write it so: `--set exporters.debug.verbosity=detailed`.",
  },
  invalid_variable: {
    cause: "What stands in an `env:` substitution is not the name of an environment variable.",
    action: "Write letters, digits and underscores; `$$` for a dollar sign that is meant as one.",
  },
  limiter_not_first: {
    cause: "`memory_limiter` stands behind other processors, which then work on what it refuses.",
    action: "Put it first.",
  },
  missing_key: {
    cause: "A key that must be there is not, or has no value.",
    action: "Write it; the problem says what is expected.",
  },
  no_config: {
    cause: "No config was given.",
    action: "Give one with `--config`.",
  },
  no_effect: {
    cause: "A component or pipeline is known from the Collector and does nothing here.",
    action: "Nothing, or take it out; the problem says why.",
  },
  no_exporters: {
    cause: "A pipeline has no exporters.",
    action: "Name at least one exporter or connector.",
  },
  no_queue_directory: {
    cause: "A program has exporters with a durable queue and does not say where to keep it.",
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
    action:
      "Give it `tls` and `auth`, or let it listen on 127.0.0.1. In front of it a proxy may do both: then it is a note.",
  },
  over_intake_limit: {
    cause:
      "A processor may hold back as much as the whole agent may take, so clients are refused before it makes room.",
    action: "Set its limit below `service.intake.max_bytes`, or raise that.",
  },
  plugin_component: {
    cause: "A plugin was loaded, and what it exports cannot be used, or has not the type that was looked for.",
    action: "Export what the `define` functions return, as the default or by name.",
  },
  plugin_contract: {
    cause: "A plugin was built for another version of the plugin contract.",
    action: "Update Sluice, or the plugin, whichever is older.",
  },
  plugin_failed: {
    cause: "A plugin's module threw while it was loaded, cannot be parsed, or did not end loading.",
    action: "Mend the place that the problem names.",
  },
  plugin_import: {
    cause: "A plugin imports a package or a file that cannot be found.",
    action: "Install the package beside the plugin, or mend the path.",
  },
  plugin_not_found: {
    cause: "A package or file that `plugins` names does not exist, seen from the config's folder.",
    action: "Install it there, or mend the name or path.",
  },
  plugin_not_listed: {
    cause: "A type is unknown, and an installed package has a name that would fit it.",
    action: "List the package under `plugins`, if it is the one you mean.",
  },
  plugin_type_taken: {
    cause: "A plugin has a type that another of its kind has already.",
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
  repeated_reference: {
    cause: "A receiver, exporter or extension is named twice in one list; it is used once.",
    action: "Take one out.",
  },
  schema_failed: {
    cause: "The schema of a component threw when it was held against its config.",
    action: "Mend the schema: it is a mistake in the plugin.",
  },
  start_failed: {
    cause: "The config is sound, and a component could not start: a port is taken, a file cannot be read.",
    action: "Mend what the problem names on the machine, or choose another value.",
  },
  undefined_reference: {
    cause: "A pipeline, or a connector's config, names something that is not defined.",
    action: "Define it, or mend the name.",
  },
  unknown_component: {
    cause: "There is no component of that type. It is only a warning where no pipeline uses it.",
    action: "Mend the name, or list the plugin that has it under `plugins`.",
  },
  unknown_key: {
    cause: "A key is not known here.",
    action: "Mend its name or its indentation; the problem lists what is known or near.",
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
    cause: "The config, or a file that it takes a value from, cannot be read.",
    action: "Mend the path, or the rights of the user that runs the agent.",
  },
  unset_variable: {
    cause: "An environment variable is not set, and there is no default.",
    action: "Set it, or write a default behind the name, with `:-` between them.",
  },
  unsupported_signal: {
    cause: "A component stands in a pipeline of a signal that it does not take.",
    action: "Take it out, or move it to a pipeline of a signal that it takes.",
  },
  unused_component: {
    cause: "A component is defined, and no pipeline or `service.extensions` names it: it does not run.",
    action: "Name it where it belongs, or take it out.",
  },
  wrong_kind: {
    cause: "A pipeline names a component in the place of another kind, such as an exporter among its receivers.",
    action: "Move the id to the list of its kind.",
  },
  wrong_type: {
    cause: "A value is of another kind than the key takes, such as a text in the place of a list.",
    action: "Write what the problem expects; quotes make a text of a number.",
  },
  wrong_value: {
    cause: "A value is of the right kind, and is none that the key takes.",
    action: "Write one that the problem lists or describes.",
  },
  yaml_depth: {
    cause: "The YAML is nested deeper than any config needs.",
    action: "Look for brackets that are not closed, or generate less.",
  },
  yaml_documents: {
    cause: "A file has a second YAML document, behind `---`.",
    action:
      "Write one document a file, and give several files with several `--config`: only the first document is read.",
  },
  yaml_syntax: {
    cause: "The text is not YAML, or uses a part of it that cannot be followed, such as an alias without its anchor.",
    action: "Mend the place; indentation, and substitutions in brackets without quotes, are the usual reasons.",
  },
  yaml_tag: {
    cause: "The YAML has a tag that means nothing here.",
    action: "Take the tag out.",
  },
  zone_order: {
    cause: "A processor stands behind one that should come later, such as `pii` behind what sends data elsewhere.",
    action: "Put it where the problem says. With `service.strict_order` it is an error, without it a warning.",
  },
} as const satisfies Readonly<Record<string, ProblemFacts>>;

export type ProblemCode = keyof typeof PROBLEMS;
