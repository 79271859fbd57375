// What is inside the training: its layers, its data, its time, and the raw events.
import { useMemo, useState } from "preact/hooks";
import { eventsSource } from "../api";
import type { BatchField, Layer, Maybe, TimePart, TrainingInside } from "../api-types";
import { createFeed } from "../feed";
import {
  clockTimeWithSeconds,
  decimal,
  duration,
  integer,
  NONE,
  percent,
} from "../format";
import { eventsShown } from "../words";

export function Inside({
  run,
  inside,
}: {
  run: string;
  inside: Maybe<TrainingInside>;
}) {
  return (
    <>
      {inside && inside.time.length > 0 && <TimeSpent parts={inside.time} />}
      {inside && <Data inside={inside} />}
      {inside && inside.layers.length > 0 && <Layers inside={inside} />}
      <RawEvents run={run} />
    </>
  );
}

function Folded(props: {
  title: string;
  count?: string;
  open?: boolean;
  onOpen?(): void;
  children: preact.ComponentChildren;
}) {
  return (
    <details
      class="card settings"
      open={props.open ?? false}
      onToggle={(event) => event.currentTarget.open && props.onOpen?.()}
    >
      <summary>
        <h2>{props.title}</h2>
        {props.count && <span class="faint">{props.count}</span>}
      </summary>
      {props.children}
    </details>
  );
}

/** Below this share a part is told, but has no bar to speak of. */
const SMALLEST_SHARE = 0.005;

function TimeSpent({ parts }: { parts: readonly TimePart[] }) {
  const whole = parts.reduce((sum, part) => sum + part.seconds, 0);
  const shown = parts.filter((part) => part.seconds / whole >= SMALLEST_SHARE);
  return (
    <Folded title="Where the time went" count={duration(whole)}>
      <ul class="time-parts">
        {shown.map((part) => (
          <li key={part.what}>
            <span class="cut-off" title={part.what}>
              {part.what}
            </span>
            <span class="track" aria-hidden="true">
              <span style={{ width: `${(part.seconds / whole) * 100}%` }} />
            </span>
            <span class="figure">{percent(part.seconds / whole)}</span>
            <span class="figure faint">{duration(part.seconds)}</span>
          </li>
        ))}
      </ul>
    </Folded>
  );
}

function Data({ inside }: { inside: TrainingInside }) {
  const { stages, settings, fields, batches_seen: seen, kind } = inside.data;
  const known = Object.entries(settings).filter(([name]) => name !== "data.stages");
  if (stages.length + known.length + fields.length === 0) return null;
  return (
    <Folded title="Data pipeline" count={kind ?? ""}>
      {stages.length > 0 && (
        <ol class="stages" aria-label="Stages, from the source to the training">
          {stages.map((stage, index) => (
            <li key={index}>{stage}</li>
          ))}
        </ol>
      )}
      {fields.length > 0 && <Fields fields={fields} seen={seen} />}
      {known.length > 0 && (
        <dl>
          {known.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </Folded>
  );
}

function Fields({ fields, seen }: { fields: readonly BatchField[]; seen: number }) {
  return (
    <Scrolling>
      <caption>
        The last of {integer(seen)} batches that were looked at. Only statistics are
        kept.
      </caption>
      <thead>
        <tr>
          {["Field", "Role", "Type", "Shape", "Least", "Most", "Mean", "Spread"].map(
            (title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ),
          )}
          <th scope="col">Zeros</th>
          <th scope="col">NaN or Inf</th>
        </tr>
      </thead>
      <tbody>
        {fields.map((field) => (
          <tr key={`${field.role} ${field.name}`}>
            <th scope="row">{field.name}</th>
            <td>{field.role}</td>
            <td>{field.dtype}</td>
            <td>{field.shape.join(" × ")}</td>
            <td>{figure(field.minimum)}</td>
            <td>{figure(field.maximum)}</td>
            <td>{figure(field.mean)}</td>
            <td>{figure(field.std)}</td>
            <td>{share(field.zero_fraction)}</td>
            <td class={field.nonfinite_count ? "bad" : ""}>
              {field.nonfinite_count === null ? NONE : integer(field.nonfinite_count)}
            </td>
          </tr>
        ))}
      </tbody>
    </Scrolling>
  );
}

function Layers({ inside }: { inside: TrainingInside }) {
  const { layers, looks } = inside;
  const at = looks.step.at(-1);
  return (
    <Folded title="Layers" count={integer(layers.length)}>
      <Scrolling>
        <caption>
          {at === undefined
            ? "No step was looked at closely."
            : `Gradients, weights and outputs as of step ${integer(at)}.`}
        </caption>
        <thead>
          <tr>
            {[
              "Layer",
              "Kind",
              "Parameters",
              "Gradient",
              "Weights",
              "Moved by a step",
              "Zero outputs",
              "Dead units",
              "Saturated",
            ].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {layers.map((layer) => (
            <LayerRow key={layer.name} layer={layer} looked={at !== undefined} />
          ))}
        </tbody>
      </Scrolling>
    </Folded>
  );
}

function LayerRow({ layer, looked }: { layer: Layer; looked: boolean }) {
  const gradient = layer.gradient_norms.at(-1) ?? null;
  const missing = looked && gradient === null && (layer.parameters ?? 0) > 0;
  const moved =
    layer.update_norm === null || !layer.weight_norm
      ? null
      : layer.update_norm / layer.weight_norm;
  const bad = gradient !== null && !Number.isFinite(gradient);
  return (
    <tr>
      <th scope="row">{layer.name}</th>
      <td>
        {layer.kind}
        {layer.activation && <span class="faint"> {layer.activation}</span>}
      </td>
      <td>{layer.parameters === null ? NONE : integer(layer.parameters)}</td>
      <td class={bad ? "bad" : ""}>
        {missing ? (layer.trainable === false ? "frozen" : "none") : figure(gradient)}
      </td>
      <td>{figure(layer.weight_norm)}</td>
      <td>{moved === null ? NONE : percentOfWeights(moved)}</td>
      <td>{share(layer.zero_fraction)}</td>
      <td>{share(layer.dead_fraction)}</td>
      <td>{share(layer.saturated_fraction)}</td>
    </tr>
  );
}

/** A step moves weights by a thousandth or so: more digits than a share has. */
function percentOfWeights(moved: number): string {
  return Number.isFinite(moved) ? `${decimal(moved * 100)}%` : String(moved);
}

function figure(value: Maybe<number>): string {
  if (value === null) return NONE;
  return Number.isFinite(value) ? decimal(value) : Number.isNaN(value) ? "NaN" : "Inf";
}

function share(value: Maybe<number>): string {
  return value === null ? NONE : percent(value);
}

function Scrolling({ children }: { children: preact.ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls needs the keyboard.
    <div class="scrolling" tabIndex={0}>
      <table class="plain">{children}</table>
    </div>
  );
}

/** Asked for only when opened: a long run has many. */
function RawEvents({ run }: { run: string }) {
  const feed = useMemo(() => createFeed(eventsSource(run)), [run]);
  const [wanted, setWanted] = useState(false);
  const answer = feed.data.value;
  function ask() {
    setWanted(true);
    void feed.refresh();
  }
  return (
    <Folded title="Raw events" onOpen={ask}>
      {wanted && !answer && (
        <p class="card-body">
          {feed.error.value ? feed.error.value.message || "No answer." : "Reading …"}
        </p>
      )}
      {answer && (
        <>
          <p class="card-body faint">
            {eventsShown(answer.events.length, answer.total)}
          </p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls needs the keyboard. */}
          <ol class="raw-events" tabIndex={0}>
            {answer.events.map((event, index) => (
              <li key={index}>
                <span class="faint">
                  {clockTimeWithSeconds(event.wall_time)} step {integer(event.step)}
                </span>
                <b>{event.kind}</b>
                <code>{event.text}</code>
              </li>
            ))}
          </ol>
        </>
      )}
    </Folded>
  );
}
