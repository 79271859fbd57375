// The letter of a run in a comparison: A in a disc, B in a square.
export type Letter = "a" | "b";

export function Badge({ letter }: { letter: Letter }) {
  return (
    <span
      class={`badge ${letter}`}
      role="img"
      aria-label={`Run ${letter.toUpperCase()}`}
    >
      {letter.toUpperCase()}
    </span>
  );
}
