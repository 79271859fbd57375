// TensorBoard's way in: it imports this module and calls `render` inside our iframe.
import { render as mount } from "preact";
import { App } from "./app";
import { report } from "./report";
import { connectToHost } from "./state";
import { adoptStyles } from "./styles/adopt-styles";

/** A saved report has nobody around it who would call this. */
if (report) render();

export function render(): void {
  adoptStyles();
  connectToHost();
  mount(<App />, document.body);
}
