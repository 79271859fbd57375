// A saved report: this same page in a file, with the answers of the server inside.
import { fields, list, number, words } from "./json-fields";

export interface Report {
  /** When it was saved, in seconds since the epoch. */
  madeAt: number;
  /** The runs in it; several are shown side by side. */
  runs: string[];
  answers: Record<string, unknown>;
}

const ELEMENT_ID = "training-health-report";
/** The parameters that tell two answers of a route apart, as the server joins them. */
const KEY_PARAMETERS = ["run", "lane", "a", "b", "align", "quantity"];

export function readReport(page: Document): Report | null {
  const text = page.getElementById(ELEMENT_ID)?.textContent;
  if (!text) return null;
  const given = fields(JSON.parse(text));
  return {
    madeAt: number(given.made_at) ?? 0,
    runs: list(given.runs, words),
    answers: fields(given.answers),
  };
}

/** The report that this file is; null inside TensorBoard. */
export const report: Report | null = readReport(document);

/** What the server said to a question when the report was saved. */
export function savedAnswer({ answers }: Report, url: string): unknown {
  const [path = "", query = ""] = url.replace(/^\.\//, "").split("?");
  const parameters = new URLSearchParams(query);
  const key = [path, ...KEY_PARAMETERS.map((name) => parameters.get(name) ?? "")];
  return answers[key.join("\n")];
}
