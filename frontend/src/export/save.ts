// Hands a file to the browser to be saved, and a text to the clipboard.

/** `health_<run>_<yyyymmdd-hhmm>.<ext>`, with only plain characters. */
export function fileName(run: string, extension: string, now = new Date()): string {
  const plain = run.replace(/[^A-Za-z0-9._-]+/g, "_").replace(/^[_.]+|[_.]+$/g, "");
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  const moment = `${day}-${two(now.getHours())}${two(now.getMinutes())}`;
  return `health_${plain.slice(0, 60) || "run"}_${moment}.${extension}`;
}

export function save(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function textFile(text: string, type: string): Blob {
  return new Blob([text], { type: `${type};charset=utf-8` });
}

/** Twice as fine as on the screen, so that it can be printed. */
const PNG_SCALE = 2;

export async function pngOf(svg: string): Promise<Blob> {
  const address = URL.createObjectURL(textFile(svg, "image/svg+xml"));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.naturalWidth * PNG_SCALE;
    canvas.height = image.naturalHeight * PNG_SCALE;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => {
      canvas.toBlob(
        (blob) => (blob ? resolve(blob) : reject(new Error("No picture was made."))),
        "image/png",
      );
    });
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Over plain HTTP there is no clipboard; an element that can be selected helps. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "unseen";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
