// The examples of http_api.md, for tests: the document is the fixture.
import document from "../../../tb_health_plugin/server/http_api.md?raw";

/** The JSON block below the heading that starts with `title`. */
export function example(title: string): unknown {
  const section = document
    .split(/^## /m)
    .find((part) => part.replaceAll("`", "").startsWith(title));
  const block = section?.match(/```json\n(.*?)```/s)?.[1];
  if (block === undefined) throw new Error(`http_api.md has no example for ${title}`);
  return JSON.parse(block);
}

export const RUNS = "GET /runs";
export const RUN = "GET /run?";
export const LANE = "GET /lane";
export const COMPARE = "GET /compare";
export const WORKERS = "GET /workers";
export const TRAINING = "GET /training";
export const EVENTS = "GET /events";
export const ERROR = "Errors";
