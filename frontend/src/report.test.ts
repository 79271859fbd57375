import { expect, test } from "vitest";
import { ApiError, savedSource } from "./api";
import { readReport, savedAnswer } from "./report";

function page(content: string): Document {
  const made = document.implementation.createHTMLDocument();
  const element = made.createElement("script");
  element.id = "training-health-report";
  element.textContent = content;
  made.body.append(element);
  return made;
}

const REPORT = page(
  JSON.stringify({
    made_at: 5,
    runs: ["a b"],
    answers: { "lane\na b\nloss\n\n\n\n": { lane: "loss" } },
  }),
);

test("inside TensorBoard there is no report", () => {
  expect(readReport(document.implementation.createHTMLDocument())).toBeNull();
});

test("the answer to a question does not depend on how finely it was asked", () => {
  const report = readReport(REPORT);
  const url = "./lane?run=a+b&lane=loss&buckets=1600&axis=step&from=1&to=2";

  expect(report?.runs).toEqual(["a b"]);
  expect(report && savedAnswer(report, url)).toEqual({ lane: "loss" });
});

test("what was not saved is told as such", async () => {
  const report = readReport(REPORT);
  if (!report) throw new Error("no report");

  const failure = await savedSource(report, "./run?run=x", (json) => json)().catch(
    (error: unknown) => error,
  );

  expect(failure).toBeInstanceOf(ApiError);
  expect(failure).toMatchObject({ status: 404 });
});
