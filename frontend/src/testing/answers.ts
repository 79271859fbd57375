// A server for tests: answers by path, and remembers what it was asked.
import { vi } from "vitest";

export interface Asked {
  url: string;
  headers: Headers;
}

export interface Answer {
  json?: unknown;
  text?: string;
  status?: number;
  etag?: string;
}

/** Answers with what `answer` gives; undefined stands for a server that is gone. */
export function serve(answer: (asked: Asked) => Answer | undefined): Asked[] {
  const asked: Asked[] = [];
  vi.stubGlobal("fetch", async (url: string, init?: RequestInit) => {
    const question = { url, headers: new Headers(init?.headers) };
    asked.push(question);
    const given = answer(question);
    if (!given) throw new TypeError("Failed to fetch");
    const { json, text, status = 200, etag } = given;
    const body = status === 304 ? null : (text ?? JSON.stringify(json));
    return new Response(body, { status, headers: etag ? { ETag: etag } : {} });
  });
  return asked;
}
