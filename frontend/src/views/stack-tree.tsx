// The stacks of a hang as a tree of calls: the user's own lines stand out, the rest folds.
import type { StackFrame, StackThread } from "../api-types";
import { callsInside, otherThreads } from "../words";

export function StackTree({ threads }: { threads: readonly StackThread[] }) {
  const main = threads.filter((thread) => thread.trains);
  // Of the others, those in the user's own code may be what is waited for.
  const others = threads.filter((thread) => !thread.trains);
  const own = others.filter(hasOwnCode);
  const rest = others.filter((thread) => !hasOwnCode(thread));
  return (
    <div class="stacks">
      {main.map((thread) => (
        <Thread key={keyOf(thread)} thread={thread} title="The thread that trains" />
      ))}
      {own.map((thread) => (
        <Thread key={keyOf(thread)} thread={thread} title="Another thread" />
      ))}
      {rest.length > 0 && (
        <details>
          <summary>{otherThreads(rest.length)}</summary>
          {rest.map((thread, index) => (
            <Thread key={index} thread={thread} title="Another thread" />
          ))}
        </details>
      )}
    </div>
  );
}

function hasOwnCode(thread: StackThread): boolean {
  return thread.frames.some((frame) => !frame.library);
}

function keyOf({ frames }: StackThread): string {
  return frames.map((frame) => `${frame.file}:${frame.line}`).join();
}

function Thread({ thread, title }: { thread: StackThread; title: string }) {
  const groups = grouped(thread.frames);
  return (
    <div class="thread">
      <h3>{title}</h3>
      <ol>
        {groups.map((group, depth) => (
          <li
            key={depth}
            style={{ "--depth": Math.min(depth, 8) }}
            class={depth === groups.length - 1 ? "innermost" : ""}
          >
            {group.library && group.frames.length > 1 ? (
              <details>
                <summary>{callsInside(group.frames.length, packageOf(group))}</summary>
                {group.frames.map((frame) => (
                  <Frame key={`${frame.file} ${frame.line}`} frame={frame} />
                ))}
              </details>
            ) : (
              group.frames.map((frame) => (
                <Frame key={`${frame.file} ${frame.line}`} frame={frame} />
              ))
            )}
          </li>
        ))}
      </ol>
    </div>
  );
}

function Frame({ frame }: { frame: StackFrame }) {
  const file = frame.library ? shortPath(frame.file) : frame.file;
  return (
    <p class={frame.library ? "library" : "own"} title={frame.file}>
      <code>{frame.function || "?"}</code>{" "}
      <span>
        {file}, line {frame.line}
      </span>
    </p>
  );
}

interface Group {
  library: boolean;
  frames: StackFrame[];
}

/** Runs of library calls belong together; each own line stands alone. */
export function grouped(frames: readonly StackFrame[]): Group[] {
  const groups: Group[] = [];
  for (const frame of frames) {
    const last = groups.at(-1);
    const same = last?.library && frame.library;
    if (same && packageName(last.frames[0]?.file ?? "") === packageName(frame.file)) {
      last.frames.push(frame);
    } else groups.push({ library: frame.library, frames: [frame] });
  }
  return groups;
}

function packageOf(group: Group): string {
  return packageName(group.frames[0]?.file ?? "");
}

export function packageName(file: string): string {
  const installed = file.match(/(?:site|dist)-packages\/([^/]+)/)?.[1];
  if (installed) return installed.replace(/\.py$/, "");
  return file.includes("tb_health_plugin") ? "Training Health" : "Python itself";
}

function shortPath(file: string): string {
  return file
    .replace(/^.*(?:site|dist)-packages\//, "")
    .replace(/^.*\/lib\/python[^/]*\//, "");
}
