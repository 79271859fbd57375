// A choice of one among a few, as buttons side by side.
interface Props<T> {
  /** What is chosen, for those who cannot see it. */
  legend: string;
  items: readonly T[];
  chosen: T;
  title(item: T): string;
  onSwitch(item: T): void;
  class?: string;
}

export function Switch<T extends string | boolean>(props: Props<T>) {
  const { legend, items, chosen, title, onSwitch } = props;
  return (
    <fieldset class={`switch ${props.class ?? ""}`}>
      <legend class="unseen">{legend}</legend>
      {items.map((item) => (
        <button
          key={String(item)}
          type="button"
          aria-pressed={item === chosen}
          onClick={() => onSwitch(item)}
        >
          {title(item)}
        </button>
      ))}
    </fieldset>
  );
}
