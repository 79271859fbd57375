// The letter of a run in a comparison: A in a disc, the others in squares.
export const LETTERS = ["a", "b", "c", "d", "e", "f", "g", "h"] as const;
export type Letter = (typeof LETTERS)[number];

export function letterOf(index: number): Letter {
  return LETTERS[index] ?? "h";
}

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
