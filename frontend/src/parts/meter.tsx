// A small bar beside a number; amber and bold when the number asks for attention.
interface Props {
  /** From 0 to 1; null draws no bar, because the whole is not known. */
  fraction: number | null;
  text: string;
  alarming: boolean;
}

export function Meter({ fraction, text, alarming }: Props) {
  return (
    <span class={alarming ? "meter alarming" : "meter"}>
      {fraction !== null && (
        <span class="track" aria-hidden="true">
          <span style={{ width: `${Math.max(0, Math.min(1, fraction)) * 100}%` }} />
        </span>
      )}
      <span class="figure">{text}</span>
    </span>
  );
}
