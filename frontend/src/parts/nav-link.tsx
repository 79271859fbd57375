// A link to a run that opens in place, and in a new browser tab when asked to.
import type { ComponentChildren } from "preact";
import { addressOf } from "../host";
import { nav, open } from "../state";
import type { Nav } from "../url-state";

interface Props {
  to: Partial<Nav>;
  class?: string;
  title?: string;
  children: ComponentChildren;
}

export function NavLink({ to, class: look = "link", title, children }: Props) {
  function follow(event: MouseEvent) {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    event.stopPropagation();
    open(to);
  }
  // The address is TensorBoard's, so a plain click must never load it in our frame.
  return (
    <a
      class={look}
      href={addressOf({ ...nav.value, ...to })}
      target="_top"
      onClick={follow}
      {...(title !== undefined && { title })}
    >
      {children}
    </a>
  );
}
