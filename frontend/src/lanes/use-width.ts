// The width of an element, told again whenever it changes.
import { useEffect, useState } from "preact/hooks";

export function useWidth(element: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(800);
  useEffect(() => {
    const watched = element.current;
    if (!watched) return;
    const read = () => {
      if (watched.clientWidth > 0) setWidth(watched.clientWidth);
    };
    const observer = new ResizeObserver(read);
    observer.observe(watched);
    read();
    return () => observer.disconnect();
  }, [element]);
  return width;
}
