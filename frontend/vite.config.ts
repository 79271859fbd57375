// How the tab is built: one ES module, `index.js`, that exports `render`.
//
// Library mode would leave the output unminified, and without
// `preserveEntrySignatures` the bundler may drop the export nobody here imports.
import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    outDir: "../tb_health_plugin/server/static",
    emptyOutDir: true,
    sourcemap: false,
    modulePreload: false,
    // The texts that the licences of what is bundled ask us to pass on.
    license: { fileName: "licenses.md" },
    rolldownOptions: {
      input: "src/main.tsx",
      preserveEntrySignatures: "strict",
      output: { entryFileNames: "index.js", codeSplitting: false },
    },
  },
  // Tests read the examples of http_api.md, which lies outside this folder.
  server: { fs: { allow: [".."] } },
  // The test of the palette reads a style sheet; without `css` it would be empty.
  test: { environment: "happy-dom", css: true, testTimeout: 60_000 },
});
