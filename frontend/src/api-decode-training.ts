// Decodes what is inside a training, and its raw events. Like api-decode.ts, it never throws.
import type {
  BatchField,
  Layer,
  Maybe,
  RawEvents,
  TimePart,
  TrainingInside,
} from "./api-types";
import { fields, list, number, record, text, words } from "./json-fields";

function truth(value: unknown): Maybe<boolean> {
  return typeof value === "boolean" ? value : null;
}

function layer(value: unknown): Layer {
  const given = fields(value);
  return {
    name: words(given.name),
    kind: words(given.kind),
    activation: words(given.activation),
    units: number(given.units),
    parameters: number(given.parameters),
    trainable: truth(given.trainable),
    gradient_norms: list(given.gradient_norms, number),
    weight_norm: number(given.weight_norm),
    update_norm: number(given.update_norm),
    zero_fraction: number(given.zero_fraction),
    dead_fraction: number(given.dead_fraction),
    saturated_fraction: number(given.saturated_fraction),
  };
}

function field(value: unknown): BatchField {
  const given = fields(value);
  return {
    name: words(given.name),
    role: words(given.role),
    dtype: words(given.dtype),
    shape: list(given.shape, (size) => number(size) ?? 0),
    minimum: number(given.minimum),
    maximum: number(given.maximum),
    mean: number(given.mean),
    std: number(given.std),
    zero_fraction: number(given.zero_fraction),
    nonfinite_count: number(given.nonfinite_count),
    distinct: number(given.distinct),
  };
}

function part(value: unknown): TimePart {
  const given = fields(value);
  return { what: words(given.what), seconds: number(given.seconds) ?? 0 };
}

export function decodeTraining(value: unknown): TrainingInside {
  const given = fields(value);
  const looks = fields(given.looks);
  const data = fields(given.data);
  return {
    looks: {
      step: list(looks.step, (step) => number(step) ?? 0),
      time: list(looks.time, (time) => number(time) ?? 0),
    },
    layers: list(given.layers, layer),
    data: {
      kind: text(data.kind),
      stages: list(data.stages, words),
      settings: record(data.settings, words),
      batches_seen: number(data.batches_seen) ?? 0,
      fields: list(data.fields, field),
    },
    time: list(given.time, part),
  };
}

export function decodeEvents(value: unknown): RawEvents {
  const given = fields(value);
  return {
    total: number(given.total) ?? 0,
    events: list(given.events, (event) => {
      const one = fields(event);
      return {
        kind: words(one.kind),
        step: number(one.step) ?? 0,
        wall_time: number(one.wall_time) ?? 0,
        text: words(one.text),
      };
    }),
  };
}
