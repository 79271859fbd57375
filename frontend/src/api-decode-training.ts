// Decodes what is inside a training, and its raw events. Like api-decode.ts, it never throws.
import type {
  BatchField,
  Layer,
  Maybe,
  RawEvent,
  RawEvents,
  TimePart,
  TrainingInside,
} from "./api-types";
import { listOf, number, numberOr, recordOf, shaped, text, words } from "./json-fields";

function truth(value: unknown): Maybe<boolean> {
  return typeof value === "boolean" ? value : null;
}

const layer = shaped<Layer>({
  name: words,
  kind: words,
  activation: words,
  units: number,
  parameters: number,
  trainable: truth,
  gradient_norms: listOf(number),
  weight_norm: number,
  update_norm: number,
  zero_fraction: number,
  dead_fraction: number,
  saturated_fraction: number,
});

const field = shaped<BatchField>({
  name: words,
  role: words,
  dtype: words,
  shape: listOf(numberOr(0)),
  minimum: number,
  maximum: number,
  mean: number,
  std: number,
  zero_fraction: number,
  nonfinite_count: number,
  distinct: number,
});

export const decodeTraining = shaped<TrainingInside>({
  looks: shaped<TrainingInside["looks"]>({
    step: listOf(numberOr(0)),
    time: listOf(numberOr(0)),
  }),
  layers: listOf(layer),
  data: shaped<TrainingInside["data"]>({
    kind: text,
    stages: listOf(words),
    settings: recordOf(words),
    batches_seen: numberOr(0),
    fields: listOf(field),
  }),
  time: listOf(shaped<TimePart>({ what: words, seconds: numberOr(0) })),
});

export const decodeEvents = shaped<RawEvents>({
  total: numberOr(0),
  events: listOf(
    shaped<RawEvent>({
      kind: words,
      step: numberOr(0),
      wall_time: numberOr(0),
      text: words,
    }),
  ),
});
